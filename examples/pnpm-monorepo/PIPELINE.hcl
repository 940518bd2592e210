# A pnpm workspace: five packages, their tests in the order they depend on each other, and a page made of them.
#
#   async-pipeline run                  everything
#   async-pipeline run 'test["cart"]'   one package, with what it is built from
#   async-pipeline run lint             all packages

pipeline {
  name     = "shop-web"
  pass_env = ["NPM_CONFIG_*", "npm_config_*", "PNPM_HOME", "COREPACK_*", "NODE_EXTRA_CA_CERTS"]
}

variable "pnpm" {
  description = "The package manager"
  default     = "pnpm"
}

locals {
  # What each package is built from: an order that the task runner knows, and pnpm does not have to find out again.
  packages = ["api", "cart", "core", "money", "ui"]
  sizes = {
    api   = 2000
    cart  = 1500
    core  = 1000
    money = 500
    ui    = 1500
  }
  manifests = ["package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "packages/*/package.json"]
}

task "install" {
  description = "node_modules, exactly as pnpm-lock.yaml has it"
  run         = [var.pnpm, "install", "--frozen-lockfile", "--offline", "--ignore-scripts"]
  inputs      = local.manifests
  outputs     = ["node_modules/**", "packages/*/node_modules/**"]
  timeout     = "5m"
}

# --- checks -------------------------------------------------------------------

task "lint" {
  description = "The rules of this project, ${each.key}"
  for_each    = toset(local.packages)
  run         = ["node", "tools/lint.mjs", "packages/${each.key}"]
  inputs      = ["tools/lint.mjs", "packages/${each.key}/{src,test}/**"]
}

task "lint-tools" {
  description = "The rules of this project, its own scripts"
  run         = ["node", "tools/lint.mjs", "tools"]
  inputs      = ["tools/*.mjs"]
}

task "syntax" {
  description = "${each.key} can be read by node"
  for_each    = toset(local.packages)
  run         = ["node", "--check", "packages/${each.key}/src/index.js"]
  inputs      = ["packages/${each.key}/src/**"]
}

task "cycles" {
  description = "The packages do not wait for each other"
  run         = ["node", "tools/cycles.mjs"]
  inputs      = local.manifests
}

task "lockfile" {
  description = "pnpm-lock.yaml belongs to the manifests"
  depends_on  = [task.install]
  run         = [var.pnpm, "install", "--frozen-lockfile", "--lockfile-only", "--offline"]
  inputs      = local.manifests
}

# --- the packages -------------------------------------------------------------

# One task a package, written out: a package is built after the ones that it imports.
task "build-core" {
  depends_on = [task.install, task.syntax["core"]]
  run        = [var.pnpm, "--filter", "@shop/core", "run", "build"]
  inputs     = ["packages/core/src/**", "tools/build.mjs"]
  outputs    = ["packages/core/dist/**"]
}

task "build-money" {
  depends_on = [task.install, task.syntax["money"]]
  run        = [var.pnpm, "--filter", "@shop/money", "run", "build"]
  inputs     = ["packages/money/src/**", "tools/build.mjs"]
  outputs    = ["packages/money/dist/**"]
}

task "build-cart" {
  depends_on = [task.build-core, task.build-money, task.syntax["cart"]]
  run        = [var.pnpm, "--filter", "@shop/cart", "run", "build"]
  inputs     = ["packages/cart/src/**", "tools/build.mjs"]
  outputs    = ["packages/cart/dist/**"]
}

task "build-app" {
  description = "The programs over the packages: ${each.key}"
  for_each    = toset(["api", "ui"])
  depends_on  = [task.build-cart, task.syntax[each.key]]
  run         = [var.pnpm, "--filter", "@shop/${each.key}", "run", "build"]
  inputs      = ["packages/${each.key}/src/**", "tools/build.mjs"]
  outputs     = ["packages/${each.key}/dist/**"]
}

task "test" {
  description = "Tests of ${each.key}"
  for_each    = toset(local.packages)
  depends_on  = [task.build-cart]
  run         = [var.pnpm, "--filter", "@shop/${each.key}", "run", "test"]
  inputs      = ["packages/${each.key}/{src,test}/**"]
  timeout     = "2m"
}

task "size" {
  description = "${each.key} stays below ${each.value} bytes"
  for_each    = local.sizes
  depends_on  = [task.build-cart, task.build-app]
  run         = ["node", "tools/size.mjs", each.key, "${each.value}"]
}

# --- what is published --------------------------------------------------------

task "site" {
  description = "The page, from the built packages"
  depends_on  = [task.build-app["ui"]]
  run         = ["node", "tools/site.mjs"]
  outputs     = ["dist/index.html"]
}

task "site-check" {
  description = "The page shows every item"
  depends_on  = [task.site]
  run         = "grep -q 'pen 1.50 EUR' dist/index.html && grep -q 'cup 9.00 EUR' dist/index.html"
}

task "pack" {
  description = "An archive of ${each.key}"
  for_each    = toset(["core", "money", "cart"])
  depends_on  = [task.build-cart, task.test[each.key]]
  run         = [var.pnpm, "--dir", "packages/${each.key}", "pack", "--pack-destination", "${path.root}/dist"]
  outputs     = ["dist/shop-${each.key}-1.0.0.tgz"]
}

task "checksums" {
  description = "Digests of all that is published"
  depends_on  = [task.pack, task.site-check]
  run         = "cd dist && sha256sum *.tgz index.html > SHA256SUMS"
  outputs     = ["dist/SHA256SUMS"]
}

# --- entry points -------------------------------------------------------------

job "check" {
  tasks = [task.lint, task.lint-tools, task.syntax, task.cycles, task.test]
}
