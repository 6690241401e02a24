import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { describe, it } from 'node:test'
import { SaxesParser } from 'saxes'
import { authnRequest, logoutRequest, logoutResponse, metadataOf } from '../../../src/identity/saml/messages.ts'
import type { ServiceProvider, SpKey } from '../../../src/identity/saml/service-provider.ts'
import { KEYS, textOf } from '../../support/keys.ts'
import { SAML } from '../../support/saml/saml-xml.ts'

interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Element[]
  text: string
}

/** The document element, read by a strict parser. */
function parse(xml: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  const parser = new SaxesParser({ xmlns: true })
  parser.on('error', error => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }) => {
    const values = Object.entries(attributes).map(([key, { value }]) => [key, value] as const)
    const element: Element = { name, attributes: Object.fromEntries(values), children: [], text: '' }
    open.at(-1)?.children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => open.pop())
  parser.on('text', text => {
    const last = open.at(-1)
    if (last) last.text += text
  })
  parser.write(xml).close()
  const [document] = root.children
  assert.ok(document)
  return document
}

const HOSTILE = `a"'<>&]]>\t\n\r é 🔑 <!-- x -->`
const issuedAt = new Date('2026-11-22T13:22:55.835Z')
const message = { id: '_1', issuedAt, destination: 'https://idp.example/sso', issuer: 'latchkey' }

describe('authnRequest', () => {
  const plain = { ...message, assertionConsumer: 'https://sp.example/saml/SSO/alias/latchkey' }

  it('returns the same document as UAA', () => {
    assert.equal(
      authnRequest({ ...plain, nameIdFormat: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress' }),
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
        '<saml2p:AuthnRequest AssertionConsumerServiceURL="https://sp.example/saml/SSO/alias/latchkey"' +
        ' Destination="https://idp.example/sso" ForceAuthn="false" ID="_1" IsPassive="false"' +
        ' IssueInstant="2026-11-22T13:22:55.835Z" ProtocolBinding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"' +
        ' Version="2.0" xmlns:saml2p="urn:oasis:names:tc:SAML:2.0:protocol">' +
        '<saml2:Issuer xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion">latchkey</saml2:Issuer>' +
        '<saml2p:NameIDPolicy Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"/>' +
        '</saml2p:AuthnRequest>',
    )
  })

  it('requests the unspecified NameID format by default', () => {
    const [, policy] = parse(authnRequest(plain)).children
    assert.equal(policy?.attributes['Format'], 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified')
  })

  it('sets AllowCreate unless the format is transient', () => {
    const policyOf = (nameIdFormat?: string): unknown =>
      parse(authnRequest({ ...plain, nameIdFormat, allowsNewName: true })).children[1]?.attributes['AllowCreate']
    assert.deepEqual(
      [policyOf(), policyOf(SAML.persistentName), policyOf(SAML.transientName)],
      ['true', 'true', undefined],
    )
  })

  it('writes RequestedAuthnContext and ForceAuthn', () => {
    const request = parse(authnRequest({ ...plain, authnContext: ['urn:one', HOSTILE], forceAuthn: true }))
    assert.equal(request.attributes['ForceAuthn'], 'true')
    const context = request.children[2]
    assert.equal(context?.name, 'saml2p:RequestedAuthnContext')
    assert.deepEqual(context.attributes, { Comparison: 'exact' })
    assert.deepEqual(
      context.children.map(({ name, text }) => [name, text]),
      [
        ['saml2:AuthnContextClassRef', 'urn:one'],
        ['saml2:AuthnContextClassRef', HOSTILE],
      ],
    )
  })

  it('escapes all values', () => {
    const request = parse(
      authnRequest({
        id: HOSTILE,
        issuedAt,
        destination: HOSTILE,
        issuer: HOSTILE,
        assertionConsumer: HOSTILE,
        nameIdFormat: HOSTILE,
      }),
    )
    for (const name of ['AssertionConsumerServiceURL', 'Destination', 'ID']) {
      assert.equal(request.attributes[name], HOSTILE)
    }
    const [issuer, policy, ...others] = request.children
    assert.deepEqual([issuer?.text, policy?.attributes['Format'], others], [HOSTILE, HOSTILE, []])
  })

  it('replaces characters that XML does not allow', () => {
    const [issuer] = parse(authnRequest({ ...plain, issuer: 'a\0b\u0008c\uD800d\uFFFEe' })).children
    assert.equal(issuer?.text, 'a\uFFFDb\uFFFDc\uFFFDd\uFFFDe')
  })
})

describe('logoutRequest', () => {
  const plain = { ...message, notOnOrAfter: new Date('2026-11-22T13:27:55.835Z') }

  it('writes NameID, qualifiers and SessionIndex', () => {
    const name = { value: HOSTILE, format: 'urn:f', nameQualifier: 'https://idp.example', spNameQualifier: HOSTILE }
    const request = parse(logoutRequest({ ...plain, name, sessionIndex: HOSTILE }))
    assert.equal(request.name, 'saml2p:LogoutRequest')
    assert.equal(request.attributes['NotOnOrAfter'], '2026-11-22T13:27:55.835Z')
    assert.equal(request.attributes['Destination'], 'https://idp.example/sso')
    const [issuer, nameId, session, ...others] = request.children
    assert.equal(issuer?.text, 'latchkey')
    assert.deepEqual(nameId?.attributes, {
      Format: 'urn:f',
      NameQualifier: 'https://idp.example',
      SPNameQualifier: HOSTILE,
      'xmlns:saml2': 'urn:oasis:names:tc:SAML:2.0:assertion',
    })
    assert.equal(nameId.text, HOSTILE)
    assert.deepEqual([session?.name, session?.text, others], ['saml2p:SessionIndex', HOSTILE, []])
  })

  it('omits missing qualifiers and SessionIndex', () => {
    const [, nameId, ...others] = parse(logoutRequest({ ...plain, name: { value: 'x' } })).children
    assert.deepEqual(Object.keys(nameId?.attributes ?? {}), ['xmlns:saml2'])
    assert.deepEqual(others, [])
  })
})

describe('logoutResponse', () => {
  it('writes InResponseTo and the status', () => {
    const response = parse(logoutResponse({ ...message, inResponseTo: HOSTILE, status: 'Requester' }))
    assert.equal(response.name, 'saml2p:LogoutResponse')
    assert.equal(response.attributes['InResponseTo'], HOSTILE)
    assert.equal(response.children[0]?.text, 'latchkey')
    const [code] = response.children[1]?.children ?? []
    assert.deepEqual(
      [code, code?.children[0]].map(each => each?.attributes['Value']),
      ['Requester', 'RequestDenied'].map(name => `urn:oasis:names:tc:SAML:2.0:status:${name}`),
    )
    const success = parse(logoutResponse({ ...message, inResponseTo: '_2', status: 'Success' }))
    assert.deepEqual(success.children[1]?.children[0]?.children, [])
  })
})

const keyOf = (id: string, pem: string): SpKey => ({
  id,
  privateKey: createPrivateKey(pem),
  certificates: [`c-${id}`, 'authority'],
})
const rsa = keyOf('rsa', textOf(KEYS.RS256))
const ec = keyOf('ec', textOf(KEYS.ES256))
const provider: ServiceProvider = {
  entityId: 'latchkey',
  base: 'https://sp.example/base',
  alias: 'latchkey',
  active: rsa,
  others: [],
  signsRequests: true,
  wantsAssertionsSigned: false,
}

describe('metadataOf', () => {
  /** Use and certificates of each KeyDescriptor. */
  const descriptors = (given: Partial<ServiceProvider>): readonly string[] =>
    (parse(metadataOf({ ...provider, ...given })).children[0]?.children ?? [])
      .filter(({ name }) => name === 'md:KeyDescriptor')
      .map(
        each => `${each.attributes['use']} ${each.children[0]?.children[0]?.children.map(({ text }) => text).join()}`,
      )

  it('writes elements in the order of the schema', () => {
    const { name, attributes, children } = parse(metadataOf(provider))
    assert.equal(name, 'md:EntityDescriptor')
    assert.deepEqual([attributes['ID'], attributes['entityID']], ['latchkey', 'latchkey'])
    const [role, ...others] = children
    assert.deepEqual(others, [])
    assert.equal(role?.attributes['AuthnRequestsSigned'], 'true')
    assert.equal(role.attributes['WantAssertionsSigned'], 'false')
    assert.deepEqual(
      role.children.map(each => each.name.slice('md:'.length)),
      [
        'KeyDescriptor',
        'KeyDescriptor',
        'SingleLogoutService',
        'SingleLogoutService',
        ...Array.from({ length: 4 }, () => 'NameIDFormat'),
        'AssertionConsumerService',
        'AssertionConsumerService',
      ],
    )
    assert.deepEqual(role.children.at(-2)?.attributes, {
      Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
      Location: 'https://sp.example/base/saml/SSO/alias/latchkey',
      index: '0',
      isDefault: 'true',
    })
    assert.deepEqual(role.children.at(-1)?.attributes, {
      Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:URI',
      Location: 'https://sp.example/base/oauth/token/alias/latchkey',
      index: '1',
    })
  })

  it('lists the active key for signing and encryption, and others for signing', () => {
    const other = keyOf('other', textOf(KEYS.RS256))
    assert.deepEqual(descriptors({ others: [other] }), ['signing c-rsa', 'encryption c-rsa', 'signing c-other'])
  })

  it('lists no EC key for encryption', () => {
    assert.deepEqual(descriptors({ active: ec, others: [rsa] }), ['signing c-ec', 'encryption c-rsa', 'signing c-rsa'])
    assert.deepEqual(descriptors({ active: ec }), ['signing c-ec'])
  })

  const ids = [
    { entityId: 'http://my-own-entity', id: 'http___my-own-entity' },
    { entityId: 'sz.cloudfoundry-saml-login', id: 'sz.cloudfoundry-saml-login' },
    { entityId: '9zone.latchkey', id: '_9zone.latchkey' },
    { entityId: '-zone', id: '_zone' },
    { entityId: '.x', id: '_.x' },
    { entityId: 'é"<&>', id: '_____' },
    { entityId: '', id: '_' },
  ]
  for (const { entityId, id } of ids) {
    it(`derives a valid ID from the entity id "${entityId}"`, () => {
      const { attributes } = parse(metadataOf({ ...provider, entityId, alias: encodeURIComponent(entityId) }))
      assert.equal(attributes['ID'], id)
      assert.equal(attributes['entityID'], entityId)
    })
  }
})
