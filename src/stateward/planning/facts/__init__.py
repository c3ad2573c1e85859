"""Facts that follow from one observation, without choices.

`facts` computes what all steps share. The other modules answer one question each: how hard a change hits a member,
which member is next in an upgrade, which is missing and why, which volume fits. This room imports only the model.
"""
