# What the file of an included pipeline declares, as the file that includes it has it.
pipeline {
  name     = "shop"
  pass_env = ["ALL"]
}
variable "region" {
  default = "eu"
}
variable "secret_token" {
  default   = "abcdef123456"
  sensitive = true
}
variable "token" {
  default = "another variable than that of the included file"
}
include "services/api/PIPELINE.hcl" {
  name      = "api"
  variables = { region = "${var.region}-1", token = var.secret_token }
}
task "first" {
  run = ["true", var.token]
}
task "release" {
  for_each   = ["amd64", "arm64"]
  depends_on = [include.api.test, include.api.build["linux,${each.key}"], include.api.db.down["b"], include.api.db, task.first]
  run        = ["true"]
}
task "last" {
  depends_on = [include.api]
  run        = ["true"]
  on_fail "agent" {
    use    = agent.claude
    verify = [include.api.build["linux,arm64"]]
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
agent "claude" {
  command = ["claude"]
}
job "all" {
  tasks = [include.api.db.up, task.last]
}
