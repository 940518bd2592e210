variable "token" {
  default   = "hunter2-hunter2"
  sensitive = true
  validation {
    condition     = length(var.token) > 100 # ERROR: var.token is refused: the token must be long
    error_message = "the token must be long"
  }
  validation {
    condition     = length(var.token) > 100
    error_message = "${var.token} is short" # ERROR: error_message may not be made from a secret
  }
}
variable "port" {
  type      = number
  default   = "hunter2" # ERROR: The reason is not shown, because it may contain the value of var.port.
  sensitive = true
}
variable "secret" {
  type      = list(string) # the environment has no list
  sensitive = true
  default   = ["hunter2-hunter2"]
}
variable "how" {
  default   = 1
  sensitive = "yes" # ERROR: sensitive must be true or false, without quotes
}
variable "other" {
  default   = 1
  sensitive = var.how # ERROR: sensitive cannot name other values
}
locals {
  through = var.token
}
pipeline {
  name = var.token # ERROR: name may not be made from a secret
}
agent "m" {
  command = ["x", "--key=${local.through}"] # ERROR: command may not be made from a secret
}
task "a" {
  run         = ["true"]
  description = var.secret[0]             # ERROR: description may not be made from a secret
  inputs      = [for s in var.secret : s] # ERROR: inputs may not be made from a secret
  dir         = local.through             # ERROR: dir may not be made from a secret
  env = {
    N = tonumber(var.token)                    # ERROR: The reason is not shown, because it may contain what var.token gave.
    O = parseint(local.through, 10)            # ERROR: The reason is not shown, because it may contain what var.token gave.
    B = "${var.token}${secret("TOKEN")}" + 100 # ERROR: it may contain what secret("TOKEN") and var.token gave.
  }
}
