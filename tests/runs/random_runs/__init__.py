"""Random upgrades by seed: random clusters, faults and kills, each run watched, and a failing one shrunk to a story."""
