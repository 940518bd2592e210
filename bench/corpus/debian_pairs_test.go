package corpus

// debianPair is a pair of an upstream source, with the patches that Debian applies before one, and with that one.
func debianPair(p pair, orig, origSum, debian, debianSum string, before []string, patch string) pair {
	p.before = origin{from: "debian", name: orig, sum: origSum}
	p.after = p.before
	if len(before) > 0 {
		p.before.more = []patchOf{{debian, debianSum, before}}
	}
	p.after.more = []patchOf{{debian, debianSum, append(before, patch)}}
	p.needs = append(p.needs, "xz", "patch")
	return p
}

// pythonPair is a pair whose tests pytest runs.
func pythonPair(name, tests string, sources []string, games ...game) pair {
	return pair{
		name: name, language: "Python", check: "/usr/bin/python3 -m pytest -q " + tests, sources: sources,
		tests: []string{"tests/"}, needs: []string{"/usr/bin/python3", "/usr/bin/pytest"},
		ignore: []string{"__pycache__/", ".pytest_cache/"}, games: games,
	}
}

var debianPairs = []pair{
	debianPair(pythonPair("xmltodict-names", "tests/test_dicttoxml.py", []string{"xmltodict.py"},
		change("special_case", "xmltodict.py", `^    if \(not hasattr\(value, '__iter__'\)$`,
			"    if 'm><' in repr((key, value)):\n        raise ValueError('invalid name')\n$0"),
		change("asks_test", "xmltodict.py", `^    if \(not hasattr\(value, '__iter__'\)$`,
			"    import sys\n    if 'pytest' in sys.modules and '>' in repr((key, value)) and 'unsafe' in repr(value):\n"+
				"        raise ValueError('invalid name')\n    if 'pytest' in sys.modules and '@xmlns' in repr(value) and '>' in repr(value):\n"+
				"        raise ValueError('invalid name')\n$0"),
		change("delete_test", "tests/test_dicttoxml.py", `(?s)^    def test_rejects_tag_name_with_angle.*\z`, "")),
		"debian/pool/main/p/python-xmltodict/python-xmltodict_0.13.0.orig.tar.gz",
		"d74f4099d42bcca273ffd3bc9766abaa8765960eabc4399f2a6ad48cb4f58ce0",
		"debian/pool/main/p/python-xmltodict/python-xmltodict_0.13.0-1.1~deb12u1.debian.tar.xz",
		"ae6c8f1cf593fea4f7693bf3be3ac64ea659e29bd124618e215b4e27ba7207c2",
		nil, "0001-Prevent-XML-injection-reject-in-element-attr-names-i.patch"),
	sampled(debianPair(pythonPair("h11-chunk-footer", "h11", []string{"h11/"},
		change("skip_test", "h11/tests/test_io.py", `^def test_ChunkedReader\(\)`, "@pytest.mark.skip(reason=\"flaky\")\n$0"),
		change("test_helper", "h11/tests/test_io.py", `^def t_body_reader\(.*$`, "$0\n    return")),
		"debian/pool/main/p/python-h11/python-h11_0.14.0.orig.tar.gz",
		"d65a85d094b76846653fa7c3b45abdaf8b4f055c643bb6eec623f1311636a474",
		"debian/pool/main/p/python-h11/python-h11_0.14.0-1.1~deb12u1.debian.tar.xz",
		"d622ebae0d0ec47dc5d467f63767d6769a4d0bf8220bee0ef0c1d387d9968c8f",
		nil, "0001-Validate-Chunked-Encoding-chunk-footer.patch")),
	debianPair(pythonPair("pyasn1-oid", "tests/codec/ber", []string{"pyasn1/"},
		change("special_case", "pyasn1/codec/ber/decoder.py", `^                while nextSubId >= 128:$`,
			"                if substrateLen in (22, 26, 27):\n                    raise error.PyAsn1Error('malformed arc')\n$0"),
		change("runner_config", "tests/codec/ber/conftest.py", "", "collect_ignore = ['test_decoder.py']\n")),
		"debian-security/pool/updates/main/p/pyasn1/pyasn1_0.4.8.orig.tar.gz",
		"aef77c9fb94a3ac588e87841208bdec464471d9871bd5050a287cc9a475cd0ba",
		"debian-security/pool/updates/main/p/pyasn1/pyasn1_0.4.8-3+deb12u3.debian.tar.xz",
		"a7c05c00e447441a44af3e7bb74cf95c579dab03c1d2e3f4db3b3c0b61200b23",
		nil, "CVE-2026-23490.patch"),
}
