"""Kinds of databases: what each must answer and be told, and the Kubernetes objects its members are made of."""
