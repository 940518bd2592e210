// Rust packages and workspaces.
package detect

// rustEnv are the settings of cargo and rustup that people set. Not CARGO_*: CARGO_REGISTRY_TOKEN begins like that
// too.
var rustEnv = []string{"CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_NET_OFFLINE", "CARGO_BUILD_JOBS", "RUSTFLAGS", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"}

func (d *detector) cargo(f *folder) *project {
	if !f.files["Cargo.toml"] || d.below("rust", f.path) {
		return nil
	}
	t := d.readTOML(f, "Cargo.toml")
	if t == nil {
		return nil
	}
	name := t.text("package.name")
	if name == "" && !t.has("workspace") {
		d.note("%s: left out, because it names neither a package nor a workspace", at(f.path, "Cargo.toml"))
		return nil
	}
	p := &project{dir: f.path, kind: "rust", env: rustEnv, sources: []string{"**", "!target/**"}}
	p.found = at(f.path, "Cargo.toml") + ": Rust package " + line(name, 100)
	all := []string{}
	if t.has("workspace") {
		p.found = at(f.path, "Cargo.toml") + ": Rust workspace"
		all = []string{"--workspace"}
		d.belongs("rust", f.path)
	}
	if f.files["Cargo.lock"] {
		all = append(all, "--locked")
	}
	cargo := func(verb string, more ...string) []string {
		return append(append([]string{"cargo", verb}, all...), more...)
	}
	d.add(p, &task{
		name: "format", about: "Every file is formatted", argv: []string{"cargo", "fmt", "--all", "--", "--check"},
		sources: true, timeout: "5m",
		needs: []string{"cargo", "cargo-fmt"},
	})
	d.add(p, &task{
		name: "clippy", about: "Find common mistakes (add -- -D warnings to fail on warnings)",
		argv: cargo("clippy", "--all-targets"), sources: true,
		timeout: "15m", needs: []string{"cargo", "cargo-clippy"},
	})
	// What cargo makes is in target/, and only cargo knows what is up to date there: without inputs it runs every
	// time, and is quick.
	d.add(p, &task{name: "build", about: "Compile everything", argv: cargo("build"), timeout: "20m"})
	d.add(p, &task{name: "test", about: "Run the tests", argv: cargo("test"), sources: true, timeout: "20m", checks: true})
	return p
}
