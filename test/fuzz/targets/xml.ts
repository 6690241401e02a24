import assert from 'node:assert/strict'
import { DOMParser } from '@xmldom/xmldom'
import fc from 'fast-check'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import { decodeXml, parseXml, peekIssuer } from '../../../src/identity/saml/xml.ts'
import type { XmlElement } from '../../../src/identity/saml/xml.ts'
import { readSamlMetadata } from '../../../src/providers/saml-metadata.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const strict = (message: string): void => {
  throw new Error(message)
}
/** The parser that the signature library uses. */
const parser = new DOMParser({ errorHandler: { warning: () => {}, error: strict, fatalError: strict } })

const ELEMENT = 1
const TEXTS: ReadonlySet<number> = new Set([3, 4])

function checkSame(ours: XmlElement, theirs: Element): void {
  assert.equal(ours.name, theirs.localName)
  assert.equal(ours.namespace, theirs.namespaceURI ?? '')
  const attributes = Array.from(theirs.attributes).filter(({ name }) => !name.includes(':') && name !== 'xmlns')
  const read = new Map(Object.entries(ours.attributes).map(([name, value]) => [name, oneLine(value)]))
  assert.deepEqual(read, new Map(attributes.map(({ name, value }) => [name, oneLine(value)])))
  const nodes = Array.from(theirs.childNodes)
  const text = nodes.filter(({ nodeType }) => TEXTS.has(nodeType)).map(({ nodeValue }) => nodeValue)
  assert.equal(oneLine(ours.text), oneLine(text.join('')))
  const children = nodes.filter((node): node is Element => node.nodeType === ELEMENT)
  assert.equal(ours.children.length, children.length)
  for (const [place, child] of children.entries()) {
    const own = ours.children[place]
    assert.ok(own)
    checkSame(own, child)
  }
}

/** Line ends and tabs are normalized by one parser earlier than by the other. */
const oneLine = (text: string): string => text.replace(/[\t\n\r\u0085\u2028 ]+/g, ' ')

const RESPONSE = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r" Version="2.0">
<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://idp.example</saml:Issuer>
<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID='_a'><saml:Subject><saml:NameID Format="x">ann&amp;bob</saml:NameID></saml:Subject>
<saml:AttributeStatement><saml:Attribute Name="m"><saml:AttributeValue><![CDATA[<x>]]>y</saml:AttributeValue></saml:Attribute></saml:AttributeStatement></saml:Assertion></samlp:Response>`
const METADATA = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example"><IDPSSODescriptor
 protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#">
<X509Data><X509Certificate>AAAA</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService
 Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/></IDPSSODescriptor></EntityDescriptor>`
const PIECES = [
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
  '&b;',
  '&#0;',
  '&#x41;',
  '&#xD800;',
  '&lt;',
  '&',
  '<!-- -->',
  '<!--',
  '-->',
  '<?a b?>',
  '<?xml version="1.0"?>',
  '<![CDATA[',
  ']]>',
  ' xmlns=""',
  ' xmlns:a="b:c"',
  ' xmlns:xml="x"',
  ' ID="_a"',
  ' ID="_b"',
  '<a>',
  '</a>',
  '<a/>',
  '<',
  '>',
  '/>',
  '"',
  "'",
  '=',
  ':',
  'saml:',
  '\r',
  '<a b=" \t\n">',
  '<a>'.repeat(40),
]

/** Untrusted XML: the same tree as the parser of the signature library, without document type or entities; or a rejection. */
export const xml = target({
  name: 'xml',
  inputs: fc.oneof(
    { weight: 6, arbitrary: changed(fc.constantFrom(RESPONSE, METADATA), PIECES) },
    { weight: 2, arbitrary: jumble(PIECES) },
    { weight: 1, arbitrary: anyText },
  ),
  check(text) {
    const metadata = readSamlMetadata(text)
    const plain = text.replace(/<!\[CDATA\[.*?\]\]>/gs, '')
    if (metadata.outcome === 'readable') assert.doesNotMatch(plain, /<!(?:DOCTYPE|ENTITY)/)
    peekIssuer(text)
    peekIssuer(Buffer.from(text).toString('base64'))
    verdictOf([SamlProblem], () => decodeXml(text))
    return verdictOf(
      [SamlProblem],
      () => parseXml(text),
      root => {
        assert.doesNotMatch(plain, /<!(?!\[CDATA\[)/, 'a document type or a comment')
        assert.equal(Object.getPrototypeOf(root.attributes), null)
        checkSame(root, parser.parseFromString(text, 'text/xml').documentElement)
      },
    )
  },
})
