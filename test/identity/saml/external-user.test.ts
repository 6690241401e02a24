import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { externalUserOf } from '../../../src/identity/saml/external-user.ts'
import type { Mapping } from '../../../src/identity/saml/external-user.ts'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import type { SamlStatement } from '../../../src/identity/saml/response.ts'
import type { SamlProviderConfig } from '../../../src/records/provider-saml.ts'
import { anyCodePoint } from '../../support/code-points.ts'
import { SAML } from '../../support/saml/saml-xml.ts'

const now = new Date(Date.UTC(2026, 0, 15, 12))
const statementOf = (parts: Partial<SamlStatement> = {}): SamlStatement => ({
  assertionId: '_a',
  issuedAt: now,
  usableUntil: now,
  nameId: { value: 'marissa' },
  authenticatedAt: now,
  authnContextClasses: [],
  attributes: [],
  ...parts,
})
const mappingOf = (config: SamlProviderConfig = {}, more: Partial<Mapping> = {}): Mapping => ({
  config,
  now,
  entityId: 'https://idp.example',
  ownEntityId: 'us',
  requestedFormatOnly: true,
  ...more,
})
const named = (nameId: SamlStatement['nameId'], config: SamlProviderConfig = {}, more: Partial<Mapping> = {}) =>
  externalUserOf(statementOf({ nameId }), mappingOf(config, more))
const withAttributes = (
  attributes: readonly [name: string, ...values: readonly string[]][],
  config: SamlProviderConfig,
  more: Partial<SamlStatement> = {},
) =>
  externalUserOf(
    statementOf({ attributes: attributes.map(([name, ...values]) => ({ name, values })), ...more }),
    mappingOf(config),
  )
const refused = (work: () => unknown, detail: RegExp): void => {
  assert.throws(
    work,
    (error: unknown) => error instanceof SamlProblem && error.reason === 'name-id' && detail.test(error.message),
  )
}

describe('externalUserOf', () => {
  it('uses the exact NameID as user name and external id', () => {
    const { userName, externalId } = named({ value: 'Marissa@Corp.example' })
    assert.deepEqual([userName, externalId], ['Marissa@Corp.example', 'Marissa@Corp.example'])
  })

  it('derives names, but no email, from a NameID that is an email address', () => {
    const user = named({ value: 'bearer@saml.org', format: SAML.emailName })
    assert.deepEqual(
      [user.email, user.emailVerified, user.givenName, user.familyName],
      [undefined, undefined, 'bearer', 'saml.org'],
    )
  })

  it('derives no names without an email address', () => {
    const { givenName, familyName, email } = named({ value: 'marissa' })
    assert.deepEqual([givenName, familyName, email], [undefined, undefined, undefined])
  })

  it('reads amr, acr and the time of authentication, at the latest now', () => {
    const classes = { authnContextClasses: [SAML.password, '', 'x'.repeat(256)] }
    const early = new Date(now.getTime() - 60_000)
    const user = externalUserOf(statementOf({ authenticatedAt: early, ...classes }), mappingOf())
    assert.deepEqual([user.amr, user.acr, user.authenticatedAt], [['ext'], [SAML.password], early])
    const late = externalUserOf(statementOf({ authenticatedAt: new Date(now.getTime() + 60_000) }), mappingOf())
    assert.deepEqual(late.authenticatedAt, now)
  })

  describe('refuses', () => {
    it('a transient NameID', () => {
      for (const requestedFormatOnly of [true, false]) {
        const nameId = { value: '_7f3', format: SAML.transientName }
        refused(() => named(nameId, {}, { requestedFormatOnly }), /transient/)
        refused(() => named(nameId, { nameID: SAML.transientName }, { requestedFormatOnly }), /transient/)
      }
    })
    for (const nameQualifier of ['https://other.example', '', 'https://idp.example/', 'HTTPS://idp.example']) {
      it(`a NameID with the NameQualifier ${JSON.stringify(nameQualifier)}`, () =>
        refused(() => named({ value: 'marissa', nameQualifier }), /name space/))
    }
    it('a NameID for another service provider', () =>
      refused(() => named({ value: 'marissa', spNameQualifier: 'them' }), /another service provider/))
    for (const value of [
      '',
      ' ',
      ' marissa',
      'marissa ',
      'mar\nissa',
      'mar\0issa',
      '\ud800',
      'x'.repeat(256),
      'mar\u0085issa',
    ]) {
      it(`the NameID ${JSON.stringify(value).slice(0, 30)}`, () =>
        refused(() => named({ value }), /must be a single line/))
    }
  })

  it('accepts the qualifiers of the provider and of this service provider', () => {
    const nameId = {
      value: 'p',
      format: SAML.persistentName,
      nameQualifier: 'https://idp.example',
      spNameQualifier: 'us',
    }
    assert.equal(named(nameId).externalId, 'p')
  })

  describe('if the record has a nameID format', () => {
    const config = { nameID: SAML.persistentName }
    for (const format of [undefined, SAML.emailName, 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified']) {
      it(`refuses ${format ?? 'no format'}`, () =>
        refused(() => named({ value: 'm', ...(format && { format }) }, config), /format/))
      it(`accepts ${format ?? 'no format'} without requestedFormatOnly`, () =>
        assert.equal(
          named({ value: 'm', ...(format && { format }) }, config, { requestedFormatOnly: false }).userName,
          'm',
        ))
    }
    it('accepts that format', () =>
      assert.equal(named({ value: 'm', format: SAML.persistentName }, config).userName, 'm'))
    it('accepts any format if it is unspecified', () => {
      for (const nameID of [undefined, null, '', 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified']) {
        assert.equal(
          named({ value: 'm', format: SAML.emailName }, nameID === undefined ? {} : { nameID }).userName,
          'm',
        )
      }
    })
  })

  describe('attributes', () => {
    const attributeMappings = {
      email: 'mail',
      email_verified: 'mailOk',
      given_name: 'gn',
      family_name: 'sn',
      phone_number: 'tel',
    }
    it('are read by the mapped names', () => {
      const user = withAttributes(
        [
          ['mail', 'm@corp.example'],
          ['gn', 'Marissa'],
          ['sn', 'Bloggs'],
          ['tel', '123'],
          ['mailOk', 'TRUE'],
        ],
        { attributeMappings },
      )
      const { email, emailVerified, givenName, familyName, phoneNumber } = user
      assert.deepEqual(
        [email, emailVerified, givenName, familyName, phoneNumber],
        ['m@corp.example', true, 'Marissa', 'Bloggs', '123'],
      )
    })
    it('are ignored without a mapping', () => {
      const { email, givenName, emailVerified } = withAttributes(
        [
          ['email', 'a@b.example'],
          ['given_name', 'x'],
          ['email_verified', 'true'],
        ],
        {},
      )
      assert.deepEqual([email, givenName, emailVerified], [undefined, undefined, undefined])
    })
    // Covers shadow users: SAML names from the e-mail
    it('include names derived from the email address', () => {
      const { givenName, familyName } = withAttributes([['mail', 'm@corp.example']], { attributeMappings })
      assert.deepEqual([givenName, familyName], ['m', 'corp.example'])
    })
    for (const value of ['false', '1', 'yes', '', 'true ']) {
      it(`treat email_verified ${JSON.stringify(value)} as false`, () => {
        const user = withAttributes(
          [
            ['mail', 'm@corp.example'],
            ['mailOk', value],
          ],
          { attributeMappings },
        )
        assert.equal(user.emailVerified, false)
      })
    }
    it('leave emailVerified undefined without a mapping', () => {
      const user = withAttributes(
        [
          ['mail', 'm@corp.example'],
          ['mailOk', 'true'],
        ],
        { attributeMappings: { email: 'mail' } },
      )
      assert.equal(user.emailVerified, undefined)
    })
    it('do not verify a NameID that is an email address', () => {
      const user = withAttributes(
        [['mailOk', 'true']],
        { attributeMappings },
        { nameId: { value: 'boss@corp.example' } },
      )
      assert.deepEqual([user.email, user.emailVerified], [undefined, undefined])
    })
    for (const value of [
      'corp.example',
      '@corp.example',
      'm@',
      'm@n@corp.example',
      'm@corp\n.example',
      'x'.repeat(255) + '@a',
    ]) {
      it(`ignore the invalid email address ${JSON.stringify(value).slice(0, 30)}`, () =>
        assert.equal(withAttributes([['mail', value]], { attributeMappings }).email, undefined))
    }
    it('use the first non-empty value', () => {
      const user = withAttributes(
        [
          ['mail', '', 'one@corp.example', 'two@corp.example'],
          ['mail', 'three@corp.example'],
        ],
        { attributeMappings },
      )
      assert.equal(user.email, 'one@corp.example')
    })
    it('ignore mappings that are lists', () =>
      assert.equal(
        withAttributes([['mail', 'a@b.example']], { attributeMappings: { email: ['mail'] } }).email,
        undefined,
      ))
    it('ignore values with control characters', () =>
      assert.equal(withAttributes([['gn', 'Mar\u001bissa']], { attributeMappings }).givenName, undefined))
  })

  describe('custom attributes', () => {
    const config = {
      attributeMappings: { 'user.attribute.dept': 'ou', 'user.attribute.list': ['a'], 'user.attribute.': 'ou' },
    }
    it('have all values, and are emptied if missing', () => {
      assert.deepEqual(withAttributes([['ou', 'a', 'b']], config).attributes, { dept: ['a', 'b'], list: [] })
      assert.deepEqual(withAttributes([], config).attributes, { dept: [], list: [] })
    })
    it('are empty if storeCustomAttributes is false', () =>
      assert.deepEqual(withAttributes([['ou', 'a']], { ...config, storeCustomAttributes: false }).attributes, {
        dept: [],
        list: [],
      }))
    it('are limited in number and length', () => {
      const many = Array.from({ length: 500 }, (_, place) => String(place))
      assert.equal(withAttributes([['ou', ...many]], config).attributes?.['dept']?.length, 100)
      assert.deepEqual(withAttributes([['ou', 'x'.repeat(1025), '\0', '', 'ok']], config).attributes?.['dept'], ['ok'])
    })
  })

  describe('groups', () => {
    const groups = [{ name: 'urn:groups', friendlyName: 'groups', values: ['admins', 'staff', 'a,b'] }]
    const of = (config: SamlProviderConfig) =>
      externalUserOf(statementOf({ attributes: groups }), mappingOf(config)).groups
    for (const external of ['urn:groups', 'groups', ['none', 'groups', 'urn:groups']]) {
      it(`are read by name or friendly name: ${JSON.stringify(external)}`, () => {
        const config = { attributeMappings: { external_groups: external } }
        assert.deepEqual(of(config), {
          mapped: ['admins', 'staff', 'a,b'],
          roles: ['admins', 'staff', 'a,b'],
          addsMissing: true,
        })
      })
    }
    it('are empty without a mapping, to remove earlier ones', () =>
      assert.deepEqual(of({}), { mapped: [], roles: [], addsMissing: true }))
    it('are scopes with AS_SCOPES', () => {
      const config = { attributeMappings: { external_groups: 'groups' }, groupMappingMode: 'AS_SCOPES' } as const
      assert.deepEqual(of(config)?.asScopes, ['admins', 'staff', 'a,b'])
    })
    it('are filtered by the whitelist for roles only', () => {
      const config = { attributeMappings: { external_groups: 'groups' }, externalGroupsWhitelist: ['st*', 'none'] }
      assert.deepEqual(of(config), { mapped: ['admins', 'staff', 'a,b'], roles: ['staff'], addsMissing: true })
    })
    it('give no roles if storeCustomAttributes is false', () => {
      const config = { attributeMappings: { external_groups: 'groups' }, storeCustomAttributes: false }
      assert.deepEqual([of(config)?.roles, of(config)?.mapped?.length], [[], 3])
    })
  })

  it('throws nothing but SamlProblem for any input', () => {
    const text = fc.string({ unit: anyCodePoint, maxLength: 20 })
    const attribute = fc.record({ name: text, friendlyName: text, values: fc.array(text) })
    fc.assert(
      fc.property(
        text,
        fc.array(attribute),
        fc.dictionary(text, fc.oneof(text, fc.array(text))),
        (value, attributes, attributeMappings) => {
          try {
            const user = externalUserOf(
              statementOf({ nameId: { value }, attributes }),
              mappingOf({ attributeMappings }),
            )
            assert.equal(user.externalId, value)
          } catch (error) {
            assert.ok(error instanceof SamlProblem)
          }
        },
      ),
    )
  })
})
