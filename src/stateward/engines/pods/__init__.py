"""What the pods and objects of all engines have in common: merged templates, digests, images, the agent in a pod."""
