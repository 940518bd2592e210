// CMake projects, with presets or without.
package detect

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var cmakeEnv = []string{"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "CMAKE_PREFIX_PATH", "CMAKE_BUILD_PARALLEL_LEVEL"}

var (
	cmakeName  = lazily.Regexp(`(?im)^\s*project\s*\(\s*"?([\w.+-]+)`)
	cmakeTests = lazily.Regexp(`(?im)^\s*(enable_testing\s*\(|include\s*\(\s*CTest\b|add_test\s*\()`)
)

func (d *detector) cmake(f *folder) *project {
	if d.below("cmake", f.path) {
		return nil
	}
	text := d.read(f, "CMakeLists.txt")
	name := cmakeName().FindStringSubmatch(text)
	if name == nil {
		if text != "" {
			d.note("%s: left out, because it names no project", at(f.path, "CMakeLists.txt"))
		}
		return nil
	}
	d.belongs("cmake", f.path)
	p := &project{dir: f.path, kind: "cmake", env: cmakeEnv, found: at(f.path, "CMakeLists.txt") + ": CMake project " + line(name[1], 100)}
	pre := d.presets(f)
	dir := cmp.Or(pre.dir, "build")
	configure, build := []string{"cmake", "-S", ".", "-B", dir}, []string{"cmake", "--build", dir}
	test := []string{"ctest", "--test-dir", dir, "--output-on-failure"}
	if pre.configure != "" {
		p.found += ", preset " + pre.configure
		configure = []string{"cmake", "--preset", pre.configure}
	}
	if pre.build != "" {
		build = []string{"cmake", "--build", "--preset", pre.build}
	}
	if pre.test != "" {
		test = []string{"ctest", "--preset", pre.test, "--output-on-failure"}
	}
	p.sources = []string{"**", "!" + dir + "/**"}
	first := d.add(p, &task{name: "configure", about: "Prepare the build in " + dir + "/", argv: configure, timeout: "10m"})
	made := d.add(p, &task{name: "build", about: "Compile everything", argv: build, sources: true, outputs: []string{dir + "/**"}, timeout: "20m", after: []*task{first}})
	if cmakeTests().MatchString(text) {
		d.add(p, &task{name: "test", about: "Run the tests", argv: test, sources: true, timeout: "15m", after: []*task{made}, needs: []string{"ctest", "cmake"}, checks: true})
	}
	d.ignored(f, made, dir)
	return p
}

// presets are the first ones of CMakePresets.json that are not hidden, and the folder that the first configures.
type presets struct{ configure, build, test, dir string }

// A preset is one of any kind.
type preset struct {
	Name      string
	Hidden    bool
	BinaryDir string
	Configure string `json:"configurePreset"`
	Inherits  any    // a name or a list of names
}

func (p preset) usable() bool {
	return !p.Hidden && speakable(p.Name) && !strings.HasPrefix(p.Name, "-")
}

func (d *detector) presets(f *folder) presets {
	text := d.read(f, "CMakePresets.json")
	if text == "" {
		return presets{}
	}
	var file struct{ ConfigurePresets, BuildPresets, TestPresets []preset }
	name := at(f.path, "CMakePresets.json")
	if json.Unmarshal([]byte(text), &file) != nil {
		d.note("%s: not used, because it is no JSON that can be read", name)
		return presets{}
	}
	i := slices.IndexFunc(file.ConfigurePresets, preset.usable)
	if i < 0 {
		return presets{}
	}
	first := file.ConfigurePresets[i]
	dir := strings.NewReplacer("${sourceDir}/", "", "${presetName}",
		first.Name).Replace(binaryDir(file.ConfigurePresets, first, 9))
	if dir = path.Clean(dir); strings.ContainsAny(dir, "$*?[{\\!") || !speakable(dir) || path.IsAbs(dir) ||
		dir == top || strings.HasPrefix(dir, "..") {
		d.note("%s: not used, because it cannot be told in which folder of the project its preset %s builds",
			name, first.Name)
		return presets{}
	}
	return presets{first.Name, presetOf(file.BuildPresets, first.Name), presetOf(file.TestPresets, first.Name), dir}
}

// presetOf returns the first preset that belongs to a configuration, or "".
func presetOf(all []preset, configure string) string {
	if i := slices.IndexFunc(all, func(p preset) bool { return p.usable() && p.Configure == configure }); i >= 0 {
		return all[i].Name
	}
	return ""
}

// binaryDir returns where a preset builds, as it or the first preset it inherits from says.
func binaryDir(all []preset, p preset, levels int) string {
	if p.BinaryDir != "" || levels == 0 {
		return p.BinaryDir
	}
	var parent string
	switch in := p.Inherits.(type) {
	case string:
		parent = in
	case []any:
		if len(in) > 0 {
			parent, _ = in[0].(string) // what is no text names nothing
		}
	}
	i := slices.IndexFunc(all, func(o preset) bool { return parent != "" && o.Name == parent })
	if i < 0 {
		return ""
	}
	return binaryDir(all, all[i], levels-1)
}
