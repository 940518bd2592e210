locals {
  a = local.b # ERROR: a → b → c → a
  b = "${local.c}"
  c = local.a
  d = local.d # ERROR: locals wait for each other: d → d
  e = local.a
}
task "t" {
  run = [local.a, local.e]
}
