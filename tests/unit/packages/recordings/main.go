// Renders the templates of corpus.json with Go's own engine and Sprig, and prints what comes out as JSON.
//
// What the Python side renders is held to this. To record again (Go and its module proxy are needed):
//
//	python tests/unit/packages/recordings/corpus.py > corpus.json
//	cd tests/unit/packages/recordings && go run . < ../../../../corpus.json > rendered.json
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"gopkg.in/yaml.v2"
)

type entry struct {
	Template string `json:"template"`
	Output   string `json:"output,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
}

type corpus struct {
	Data      map[string]interface{} `json:"data"`
	Templates []string               `json:"templates"`
}

func toYaml(value interface{}) (string, error) {
	out, err := yaml.Marshal(value)
	return string(out), err
}

// Numbers in the data of templates are whole: JSON alone would make floats of them.
func whole(value interface{}) interface{} {
	switch found := value.(type) {
	case map[string]interface{}:
		for key, inner := range found {
			found[key] = whole(inner)
		}
	case []interface{}:
		for i, inner := range found {
			found[i] = whole(inner)
		}
	case float64:
		if found == float64(int(found)) {
			return int(found)
		}
	}
	return value
}

func render(source string, data interface{}) entry {
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = toYaml
	parsed, err := template.New("t").Option("missingkey=error").Funcs(functions).Parse(source)
	if err != nil {
		return entry{Template: source, Failed: true}
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return entry{Template: source, Failed: true}
	}
	return entry{Template: source, Output: out.String()}
}

func main() {
	var read corpus
	if err := json.NewDecoder(os.Stdin).Decode(&read); err != nil {
		log.Fatal(err)
	}
	data := whole(read.Data)
	entries := make([]entry, 0, len(read.Templates))
	for _, source := range read.Templates {
		entries = append(entries, render(source, data))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(entries); err != nil {
		log.Fatal(err)
	}
}
