"""How people and applications get to a search cluster: Services, routes, OpenSearch Dashboards and Kibana."""
