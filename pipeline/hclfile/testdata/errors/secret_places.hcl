pipeline {
  name = secret("TOKEN") # ERROR: name may not be made from a secret
}
variable "v" {
  default = secret("TOKEN") # ERROR: a default may not be made from a secret
}
agent "m" {
  command = ["x", "--key=${secret("TOKEN")}"] # ERROR: command may not be made from a secret
}
task "a" {
  run         = ["true"]
  description = "with ${secret("TOKEN")}" # ERROR: description may not be made from a secret
  inputs      = [secret("NONE")]           # ERROR: inputs may not be made from a secret
  dir         = secret("TOKEN")            # ERROR: dir may not be made from a secret
  timeout     = secret("TOKEN")            # ERROR: timeout may not be made from a secret
  env         = jsondecode(secret("JSON")) # ERROR: the names in env may not be made from a secret
  on_fail "agent" {
    use    = agent.m
    prompt = base64encode(secret("TOKEN")) # ERROR: prompt may not be made from a secret
    ci     = secret("TOKEN") == "x"        # ERROR: ci may not be made from a secret
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
locals {
  n = secret(secret("TOKEN")) # ERROR: Invalid function argument
}
