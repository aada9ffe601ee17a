"""The pictures of ideas: what lies where, as the project's own code says."""
