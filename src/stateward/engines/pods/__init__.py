"""Common parts of the pods and objects of all engines: merged templates, digests, images, the agent in a pod."""
