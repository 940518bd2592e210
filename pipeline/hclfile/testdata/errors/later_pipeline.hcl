pipeline {
  keep_runs = 50     # ERROR: `keep_runs` needs the pruning of old runs, which this version does not have
  pass_env  = ["GO"] # ERROR: `pass_env` needs
}
variable "v" {
  default   = "x"
  sensitive = true # ERROR: `sensitive` needs
  validation {     # ERROR: `validation` needs
    condition = true
  }
}
