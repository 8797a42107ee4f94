"""A runtime extension of Cluster API: upgrades of machines in place by Ansible, and gates of an upgrade."""
