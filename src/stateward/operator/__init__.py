"""Where planning meets the world: observe a cluster, plan, act and report. All effects of the product are here.

One round of one cluster is `clusters.reconcile`: `observe` and `objects` read, `planning.plan` decides, `act` carries
out, and the status says what waits. `assembly` puts an operator together, `controls` what runs beside its clusters, and
`process` starts and stops everything.

    objects        caches, live reads, ownership, and the translation into an observation
    databases      one driver for each engine, and the agents in the pods
    observe        the desired state, nodes and classes, referenced data
    security       certificates, credentials, trust
    act            actions in order, with preconditions
    clusters       when a cluster is looked at, and one round of it
    beside         what controllers of things beside databases have in common
    dashboards     OpenSearch Dashboards and Kibana beside clusters, and routes
    exporters      exporters of the databases' own metrics beside clusters
    remotes        remote clusters: their settings in databases, and Services for those that search
    scaling        what autoscalers read of the pools
    declared       objects inside the databases of search clusters
    installations  packages that run
    restarts       restarts of workloads when data that they use has changed
    pod_rights     what the pod template of a cluster may say
    network        network policies
    detection      the scheduled search for failed members
    admission      the webhook
    database_view  what a cluster's database reports, for users that may get the cluster
    runtime        options, logs, metrics, health
"""
