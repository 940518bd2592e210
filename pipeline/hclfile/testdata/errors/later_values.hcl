locals {
  f = run.id # ERROR: `run` needs
}
