"""What a schema cannot say about a cluster: one file per part of the spec.

`additions` checks what the spec adds to an image, and `pools` what each pool asks for.
"""
