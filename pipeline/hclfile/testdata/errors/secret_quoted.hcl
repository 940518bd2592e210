locals {
  a = tonumber(secret("TOKEN"))              # ERROR: The reason is not told, because it may hold what secret("TOKEN") gave.
  b = local.t + 1                            # ERROR: may hold what secret("TOKEN") gave
  c = jsondecode(secret("JSON")).nope        # ERROR: may hold what secret("JSON") gave
  d = try(tonumber(local.t), tobool(local.t)) # ERROR: may hold what secret("TOKEN") gave
  e = { a = 1 }[secret("TOKEN")]             # ERROR: may hold what secret("TOKEN") gave
  t = secret("TOKEN")
}
