// Command identity is a provider of OpenID Connect and one of SAML for tests, of two libraries, with one person.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"flag"
	"log"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"time"

	"github.com/crewjam/saml/samlidp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"golang.org/x/crypto/bcrypt"
)

const (
	person   = "anna"
	password = "the-password-of-anna"
	group    = "orders"
)

// people is the store of the OpenID provider: one person.
type people struct{ storage.User }

func (p people) GetUserByID(id string) *storage.User {
	if id != p.ID {
		return nil
	}
	return &p.User
}

func (p people) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }

func (p people) ExampleClientID() string { return "" }

func main() {
	listen := flag.String("listen", ":8001", "where it listens")
	host := flag.String("host", "localhost:8001", "where clients reach it")
	callback := flag.String("callback", "", "where people come back to with a code of OpenID Connect")
	flag.Parse()
	place := &url.URL{Scheme: "http", Host: *host, Path: "/saml"}
	http.Handle("/saml/", http.StripPrefix("/saml", saml(place)))
	http.Handle("/", openID("http://"+*host, *callback))
	log.Fatal(http.ListenAndServe(*listen, nil))
}

func openID(issuer, callback string) http.Handler {
	storage.RegisterClients(storage.WebClient("dashboards", "secret", callback))
	known := people{storage.User{ID: person, Username: person, Password: password}}
	return exampleop.SetupServer(issuer, storage.NewStorage(known), slog.Default(), false)
}

func saml(place *url.URL) http.Handler {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(err)
	now := time.Now()
	name := pkix.Name{CommonName: "identity"}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: name, NotBefore: now, NotAfter: now.AddDate(1, 0, 0)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(err)
	certificate, err := x509.ParseCertificate(signed)
	check(err)
	store := &samlidp.MemoryStore{}
	server, err := samlidp.New(samlidp.Options{URL: *place, Key: key, Certificate: certificate, Store: store})
	check(err)
	hashed, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	check(err)
	check(store.Put("/users/"+person, samlidp.User{Name: person, HashedPassword: hashed, Groups: []string{group}, Email: person + "@example.com"}))
	return server
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
