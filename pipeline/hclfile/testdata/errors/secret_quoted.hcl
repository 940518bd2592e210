locals {
  a = tonumber(secret("TOKEN"))              # ERROR: The reason is not shown, because it may contain what secret("TOKEN") gave.
  b = local.t + 1                            # ERROR: may contain what secret("TOKEN") gave
  c = jsondecode(secret("JSON")).nope        # ERROR: may contain what secret("JSON") gave
  d = try(tonumber(local.t), tobool(local.t)) # ERROR: may contain what secret("TOKEN") gave
  e = { a = 1 }[secret("TOKEN")]             # ERROR: may contain what secret("TOKEN") gave
  t = secret("TOKEN")
}
