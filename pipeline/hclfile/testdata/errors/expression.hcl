locals {
  a = uper("x")                  # ERROR: Did you mean upper?
  b = var.nope                   # ERROR: there is no variable "nope"
  c = local.nope                 # ERROR: there is no local "nope"
  d = path.module                # ERROR: There is path.root
  e = env.HOME                   # ERROR: Write env("HOME").
  f = var                        # ERROR: var alone is not a value
  g = tonumber("x")              # ERROR: Invalid function argument
  h = env("NOT_SET")             # ERROR: NOT_SET is not set, and there is no default
  h0 = env("")                   # ERROR: the name is empty
  i = env("A", "b", "c")         # ERROR: env takes a name and a default
  j = task.a                     # ERROR: names a block and is not a value
  k = 1 + "x"                    # ERROR: Invalid operand
  l = { a = 1 }.b                # ERROR: Unsupported attribute
  m = local.k + local.nope       # ERROR: there is no local "nope"
  n = "${local.k} and ${local.l}"
  o = base64decode("%")          # ERROR: this is not base64
  p = try(nope, "x")             # ERROR: nope is not a pipeline value
  q = [for x in ["a"] : y]       # ERROR: y is not a pipeline value
}
task "a" {
  run = [local.k, local.g]
  env = { A = local.b }
}
