"""How people, applications and clusters get to a search cluster: Services, routes, dashboards, remote clusters."""
