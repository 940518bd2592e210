locals {
  a0 = "0123456789012345678901234567890123456789012345678901234567890123"
  a1 = "${local.a0}${local.a0}${local.a0}${local.a0}${local.a0}${local.a0}${local.a0}${local.a0}"
  a2 = "${local.a1}${local.a1}${local.a1}${local.a1}${local.a1}${local.a1}${local.a1}${local.a1}"
  a3 = "${local.a2}${local.a2}${local.a2}${local.a2}${local.a2}${local.a2}${local.a2}${local.a2}"
  a4 = "${local.a3}${local.a3}${local.a3}${local.a3}${local.a3}${local.a3}${local.a3}${local.a3}"
  a5 = "${local.a4}${local.a4}${local.a4}${local.a4}${local.a4}${local.a4}${local.a4}${local.a4}" # ERROR: this value is larger than 1 MiB
  a6 = "${local.a5}${local.a5}"
  n0 = 1e300 * 1e300
  n1 = local.n0 * local.n0 * local.n0 # ERROR: this value is larger than 1 MiB
}
