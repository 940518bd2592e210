# What for_each and matrix make.
variable "target" {
  default = "x"
}
locals {
  ports = { web = 80, api = 8080 }
  tier  = "web"
}
agent "mine" {
  command = ["./agent.sh"]
}

task "gen" {
  for_each = ["b", "a"]
  run      = ["gen", each.key, each.value]
}
task "set" {
  for_each = toset(["b", "a", "b"])
  run      = ["set", each.key]
}
task "map" {
  for_each    = local.ports
  description = "Serve ${each.key}"
  depends_on  = [task.gen, task.gen["a"]]
  run         = "serve --port ${each.value}"
  env         = { PORT = each.value + 1, "${upper(each.key)}_PORT" = each.value }
  dir         = "sub/${each.key}"
  inputs      = ["${each.key}/**"]
  outputs     = [for x in ["a", "b"] : "${each.key}/${x}"]
  timeout     = "${each.value}s"
  on_fail "agent" {
    use    = agent.mine
    prompt = "Mend ${each.key}."
    budget {
      attempts   = 1
      wall_clock = "${each.value}s"
    }
    protect = ["${each.key}/*_test"]
    verify  = [task.gen, task.map, task.set["a"]]
  }
}
task "numbers" {
  for_each = [1, true, "two words", "q\"uo\\te", "$${x}", "ä"]
  run      = ["n", each.key, each.value]
}
task "typed" {
  for_each = { a = { x = 1, more = ["p", "q"] } }
  run      = concat(["t", each.value.x], each.value.more)
}
task "cross" {
  matrix     = { os = ["linux", "darwin"], arch = ["amd64", "arm64"], n = [1] }
  depends_on = [task.gen[matrix.os == "linux" ? "a" : "b"]]
  run        = ["build", matrix.os, matrix["arch"], matrix.n + 1]
}
task "chain" {
  for_each   = ["1", "2", "3"]
  depends_on = [task.cross["linux,arm64,1"], task.map[local.tier], task.chain_start]
  run        = ["x"]
}
task "chain_start" {
  run = ["x"]
}
task "text" {
  for_each = [var.target]
  run      = "deploy ${each.key}" # WARN: each.key, which is made from var.target, becomes part of a shell text
}
task "nothing" {
  for_each = {} # WARN: task "nothing" has no instances, because for_each is empty
  run      = ["x", each.key]
}
task "no_cross" {
  matrix = { os = ["a"], cc = [] } # WARN: task "no_cross" has no instances, because an axis of its matrix is empty
  run    = ["x", matrix.os]
}
task "after" {
  depends_on = [task.nothing, task.no_cross, task.gen]
  run        = ["x"]
}
job "some" {
  tasks = [task.map["api"], task.gen, task.nothing]
}
job "none" {
  tasks = [task.nothing]
}
