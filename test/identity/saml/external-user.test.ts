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

describe('the user of a SAML statement', () => {
  it('is identified by exactly the text of the NameID', () => {
    const { userName, externalId } = named({ value: 'Marissa@Corp.example' })
    assert.deepEqual([userName, externalId], ['Marissa@Corp.example', 'Marissa@Corp.example'])
  })

  it('has a name like an address as address of a new account only, with its parts as names', () => {
    const user = named({ value: 'bearer@saml.org', format: SAML.emailName })
    assert.deepEqual(
      [user.email, user.emailVerified, user.givenName, user.familyName],
      [undefined, undefined, 'bearer', 'saml.org'],
    )
  })

  it('has no names where there is no address', () => {
    const { givenName, familyName, email } = named({ value: 'marissa' })
    assert.deepEqual([givenName, familyName, email], [undefined, undefined, undefined])
  })

  it('was authenticated by another party, at the time that it states, and not later than now', () => {
    const classes = { authnContextClasses: [SAML.password, '', 'x'.repeat(256)] }
    const early = new Date(now.getTime() - 60_000)
    const user = externalUserOf(statementOf({ authenticatedAt: early, ...classes }), mappingOf())
    assert.deepEqual([user.amr, user.acr, user.authenticatedAt], [['ext'], [SAML.password], early])
    const late = externalUserOf(statementOf({ authenticatedAt: new Date(now.getTime() + 60_000) }), mappingOf())
    assert.deepEqual(late.authenticatedAt, now)
  })

  describe('is refused', () => {
    it('with a transient NameID, which is another one at the next sign-in', () => {
      for (const requestedFormatOnly of [true, false]) {
        const nameId = { value: '_7f3', format: SAML.transientName }
        refused(() => named(nameId, {}, { requestedFormatOnly }), /transient/)
        refused(() => named(nameId, { nameID: SAML.transientName }, { requestedFormatOnly }), /transient/)
      }
    })
    for (const nameQualifier of ['https://other.example', '', 'https://idp.example/', 'HTTPS://idp.example']) {
      it(`with a NameID in the name space ${JSON.stringify(nameQualifier)}`, () =>
        refused(() => named({ value: 'marissa', nameQualifier }), /name space/))
    }
    it('with a NameID for another service provider', () =>
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
      it(`with the NameID ${JSON.stringify(value).slice(0, 30)}`, () =>
        refused(() => named({ value }), /must be a single line/))
    }
  })

  it('may have the qualifiers of the provider and of this service provider', () => {
    const nameId = {
      value: 'p',
      format: SAML.persistentName,
      nameQualifier: 'https://idp.example',
      spNameQualifier: 'us',
    }
    assert.equal(named(nameId).externalId, 'p')
  })

  describe('where the record asks for a format', () => {
    const config = { nameID: SAML.persistentName }
    for (const format of [undefined, SAML.emailName, 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified']) {
      it(`must not have ${format ?? 'none'}`, () =>
        refused(() => named({ value: 'm', ...(format && { format }) }, config), /format/))
      it(`may have ${format ?? 'none'} if the mode says so`, () =>
        assert.equal(
          named({ value: 'm', ...(format && { format }) }, config, { requestedFormatOnly: false }).userName,
          'm',
        ))
    }
    it('may have that one', () =>
      assert.equal(named({ value: 'm', format: SAML.persistentName }, config).userName, 'm'))
    it('may have any, where it is unspecified', () => {
      for (const nameID of [undefined, null, '', 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified']) {
        assert.equal(
          named({ value: 'm', format: SAML.emailName }, nameID === undefined ? {} : { nameID }).userName,
          'm',
        )
      }
    })
  })

  describe('has attributes', () => {
    const attributeMappings = {
      email: 'mail',
      email_verified: 'mailOk',
      given_name: 'gn',
      family_name: 'sn',
      phone_number: 'tel',
    }
    it('by the names that the record maps', () => {
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
    it('and none by names that it does not map', () => {
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
    it('whose names are parts of the address where the provider sends none', () => {
      const { givenName, familyName } = withAttributes([['mail', 'm@corp.example']], { attributeMappings })
      assert.deepEqual([givenName, familyName], ['m', 'corp.example'])
    })
    for (const value of ['false', '1', 'yes', '', 'true ']) {
      it(`with an address that is not verified: ${JSON.stringify(value)}`, () => {
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
    it('with an address of which nothing is known unless the record maps what says so', () => {
      const user = withAttributes(
        [
          ['mail', 'm@corp.example'],
          ['mailOk', 'true'],
        ],
        { attributeMappings: { email: 'mail' } },
      )
      assert.equal(user.emailVerified, undefined)
    })
    it('without taking the NameID for a verified address', () => {
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
      it(`without an address that is none: ${JSON.stringify(value).slice(0, 30)}`, () =>
        assert.equal(withAttributes([['mail', value]], { attributeMappings }).email, undefined))
    }
    it('of which the first value counts', () => {
      const user = withAttributes(
        [
          ['mail', '', 'one@corp.example', 'two@corp.example'],
          ['mail', 'three@corp.example'],
        ],
        { attributeMappings },
      )
      assert.equal(user.email, 'one@corp.example')
    })
    it('not from mappings that are lists', () =>
      assert.equal(
        withAttributes([['mail', 'a@b.example']], { attributeMappings: { email: ['mail'] } }).email,
        undefined,
      ))
    it('with control characters nowhere', () =>
      assert.equal(withAttributes([['gn', 'Mar\u001bissa']], { attributeMappings }).givenName, undefined))
  })

  describe('has custom attributes', () => {
    const config = {
      attributeMappings: { 'user.attribute.dept': 'ou', 'user.attribute.list': ['a'], 'user.attribute.': 'ou' },
    }
    it('with every value, and none where it is gone, so that none goes stale', () => {
      assert.deepEqual(withAttributes([['ou', 'a', 'b']], config).attributes, { dept: ['a', 'b'], list: [] })
      assert.deepEqual(withAttributes([], config).attributes, { dept: [], list: [] })
    })
    it('none where the record says not to keep them', () =>
      assert.deepEqual(withAttributes([['ou', 'a']], { ...config, storeCustomAttributes: false }).attributes, {
        dept: [],
        list: [],
      }))
    it('in limits', () => {
      const many = Array.from({ length: 500 }, (_, place) => String(place))
      assert.equal(withAttributes([['ou', ...many]], config).attributes?.['dept']?.length, 100)
      assert.deepEqual(withAttributes([['ou', 'x'.repeat(1025), '\0', '', 'ok']], config).attributes?.['dept'], ['ok'])
    })
  })

  describe('has groups', () => {
    const groups = [{ name: 'urn:groups', friendlyName: 'groups', values: ['admins', 'staff', 'a,b'] }]
    const of = (config: SamlProviderConfig) =>
      externalUserOf(statementOf({ attributes: groups }), mappingOf(config)).groups
    for (const external of ['urn:groups', 'groups', ['none', 'groups', 'urn:groups']]) {
      it(`by name or friendly name: ${JSON.stringify(external)}`, () => {
        const config = { attributeMappings: { external_groups: external } }
        assert.deepEqual(of(config), {
          mapped: ['admins', 'staff', 'a,b'],
          roles: ['admins', 'staff', 'a,b'],
          addsMissing: true,
        })
      })
    }
    it('none without a mapping, so that earlier ones are removed', () =>
      assert.deepEqual(of({}), { mapped: [], roles: [], addsMissing: true }))
    it('as scopes if the record says so', () => {
      const config = { attributeMappings: { external_groups: 'groups' }, groupMappingMode: 'AS_SCOPES' } as const
      assert.deepEqual(of(config)?.asScopes, ['admins', 'staff', 'a,b'])
    })
    it('whose names are roles if the list lets them through; the list has no say in scopes', () => {
      const config = { attributeMappings: { external_groups: 'groups' }, externalGroupsWhitelist: ['st*', 'none'] }
      assert.deepEqual(of(config), { mapped: ['admins', 'staff', 'a,b'], roles: ['staff'], addsMissing: true })
    })
    it('but no roles where the record says not to keep them', () => {
      const config = { attributeMappings: { external_groups: 'groups' }, storeCustomAttributes: false }
      assert.deepEqual([of(config)?.roles, of(config)?.mapped?.length], [[], 3])
    })
  })

  it('never makes anything else throw', () => {
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
