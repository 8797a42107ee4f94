"""Stand-ins for the controllers: each reacts to changes, a short virtual time later."""
