# Everything of an included file that the file including it must rewrite.
pipeline {
  name        = "never seen"
  concurrency = 7
  keep_runs   = 7
  pass_env    = ["API_*", "GOFLAGS"]
}
variable "region" {
  type = string
}
variable "token" {
  type      = string
  default   = "not-the-token"
  sensitive = true
}
locals {
  sources = ["src/**", "!src/gen/**"]
  notes   = file("notes.txt")
}
agent "claude" {
  command = ["./tools/agent.sh", "tools/x"]
}
agent "other" {
  command = ["agent-in-path"]
}
agent "model" {
  provider = "anthropic"
  model    = "m"
}
task "test" {
  description = local.notes
  depends_on  = [task.build["linux,amd64"], include.db.up]
  run         = ["./test.sh", var.region, path.root]
  env         = { TOKEN = var.token }
  pass_env    = ["HOME_*", "GOFLAGS"]
  dotenv      = [".env", "conf/.env"]
  dir         = "src"
  inputs      = local.sources
  outputs     = ["out/{a,b}.txt"]
  on_fail "agent" {
    use      = agent.claude
    fallback = [agent.other]
    reviewer = agent.model
    protect  = ["**/*_test.go"]
    verify   = [task.build["linux,arm64"], include.db.up]
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
  scratch {
    include = ["vendor/**"]
    exclude = ["data/**"]
  }
}
task "build" {
  matrix = { os = ["linux"], arch = ["amd64", "arm64"] }
  run    = ["go", "build"]
}
include "db/PIPELINE.hcl" {
  name = "db"
}
job "default" {
  tasks = [task.test]
}
job "verify" {
  tasks = [task.test, task.build, include.db]
}
