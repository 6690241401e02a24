import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { OutboundBusy, OutboundError } from '../../src/base/outbound.ts'
import type { Outbound, OutboundShare } from '../../src/base/outbound.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { ExternalUser } from '../../src/identity/source.ts'
import type { MappingConfig } from '../../src/identity/sources/oidc/claims.ts'
import { externalUserOf, UnmappableClaims } from '../../src/identity/sources/oidc/claims.ts'
import type { SettingsPurpose } from '../../src/identity/sources/oidc/settings.ts'
import { createOidcSettings } from '../../src/identity/sources/oidc/settings.ts'
import { createTokenCheck } from '../../src/identity/sources/oidc/token.ts'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import { createTestClock } from '../support/clock.ts'
import { keyOfLongExponent } from '../support/long-exponent.ts'
import { rsaKeys } from '../support/rsa-keys.ts'

const NOW = new Date('2026-01-15T12:00:00Z')

describe('externalUserOf', () => {
  const read = (claims: Readonly<Record<string, unknown>>, mappings?: unknown, more: object = {}): ExternalUser =>
    externalUserOf({ sub: 's', ...claims }, { attributeMappings: mappings, ...more } as MappingConfig, {
      now: NOW,
      behaviour: behaviourOf('standard'),
    }) // some have invalid types on purpose
  const groups = { mapped: [], roles: 'memberships', addsMissing: true } as const
  const bare: ExternalUser = { userName: 's', externalId: 's', amr: ['ext', 'oauth'], groups, attributes: {} }

  const cases: readonly {
    name: string
    claims: Readonly<Record<string, unknown>>
    mappings?: unknown
    want: Partial<ExternalUser>
  }[] = [
    { name: 'uses sub as user name', claims: {}, want: {} },
    {
      name: 'maps the standard claims by default',
      claims: { email: 'e', given_name: 'g', family_name: 'f', phone_number: 'p', email_verified: true },
      want: { email: 'e', givenName: 'g', familyName: 'f', phoneNumber: 'p', emailVerified: true },
    },
    // Partly covers identity provider common config: attributeMappings
    // Partly covers attributeMappings: user_name; email; given_name; family_name; phone_number; email_verified
    {
      name: 'prefers mapped claims to the standard ones',
      claims: { mail: 'm', email: 'e', first: 'F', given_name: 'g', last: 'L', tel: 't', checked: true, login: 'l' },
      mappings: {
        user_name: 'login',
        email: 'mail',
        given_name: 'first',
        family_name: 'last',
        phone_number: 'tel',
        email_verified: 'checked',
      },
      want: { userName: 'l', email: 'm', givenName: 'F', familyName: 'L', phoneNumber: 't', emailVerified: true },
    },
    {
      name: 'ignores a mapping that is not a string',
      claims: { email: 'e' },
      mappings: { email: ['x'] },
      want: { email: 'e' },
    },
    { name: 'ignores mappings that are not an object', claims: { email: 'e' }, mappings: 'x', want: { email: 'e' } },
    { name: 'accepts a list with one distinct string', claims: { email: ['e', 'e'] }, want: { email: 'e' } },
    {
      name: 'accepts a list with one distinct string as user name',
      claims: { emails: ['e', 'e'] },
      mappings: { user_name: 'emails' },
      want: { userName: 'e' },
    },
    {
      name: 'ignores an empty list, null and an empty string',
      claims: { email: [], given_name: null, family_name: '' },
      want: {},
    },
    {
      name: 'treats the string "true" as an unverified email',
      claims: { email_verified: 'true' },
      want: { emailVerified: false },
    },
    {
      name: 'puts the amr of the provider first',
      claims: { amr: ['pwd', 'otp', 7, 'ext'] },
      want: { amr: ['pwd', 'otp', 'ext', 'oauth'] },
    },
    { name: 'ignores an amr that is not a list', claims: { amr: 'pwd' }, want: {} },
    {
      name: 'takes the time of authentication from auth_time',
      claims: { auth_time: 1_700_000_000 },
      want: { authenticatedAt: new Date(1_700_000_000_000) },
    },
    { name: 'limits auth_time to now', claims: { auth_time: 9e9 }, want: { authenticatedAt: NOW } },
    { name: 'ignores an auth_time that is a string', claims: { auth_time: '1700000000' }, want: {} },
    {
      name: 'keeps the case of user name, id and email',
      claims: { sub: 'S', email: 'E' },
      want: { userName: 'S', externalId: 'S', email: 'E' },
    },
    {
      name: 'ignores email_verified if email is mapped to another claim',
      claims: { upn: 'm', email: 'e', email_verified: true },
      mappings: { email: 'upn' },
      want: { email: 'm' },
    },
    {
      name: 'ignores inherited members of objects',
      claims: { email: 'e' },
      mappings: { email: 'constructor' },
      want: {},
    },
  ]
  for (const { name, claims, mappings, want } of cases) {
    it(name, () => {
      const expected = Object.fromEntries(
        Object.entries({ ...bare, ...want }).filter(([, value]) => value !== undefined),
      )
      assert.deepEqual(read(claims, mappings), expected)
    })
  }

  const refusals: readonly {
    name: string
    claims: Readonly<Record<string, unknown>>
    mappings?: unknown
    message: string
  }[] = [
    { name: 'a user name that is not a string', claims: { sub: 7 }, message: 'Unable to map claim to a username' },
    { name: 'an empty user name', claims: { sub: '' }, message: 'Unable to map claim to a username' },
    {
      name: 'several user names',
      claims: { emails: ['a', 'b'] },
      mappings: { user_name: 'emails' },
      message: 'Claim mapping for user_name attribute is ambiguous',
    },
    {
      name: 'an empty list of user names',
      claims: { emails: [] },
      mappings: { user_name: 'emails' },
      message: 'Unable to map claim to a username',
    },
    {
      name: 'a sub that is not a string',
      claims: { sub: 7, email: 'e' },
      mappings: { user_name: 'email' },
      message: 'The token has no subject (sub)',
    },
    {
      name: 'a user name with a lone surrogate',
      claims: { sub: '\ud800' },
      message: 'Unable to map claim to a username',
    },
    // Covers attributeMappings: error: ambiguous claim
    {
      name: 'several email addresses',
      claims: { email: ['a', 'b'] },
      message: 'Claim mapping for email attribute is ambiguous',
    },
    // Covers attributeMappings: error: unmappable claim
    {
      name: 'a phone number that is a number',
      claims: { phone_number: 7 },
      message: 'External token attribute phone_number cannot be mapped to user attribute phone_number',
    },
    {
      name: 'an email address with a line break',
      claims: { email: 'a@b.example\r\nBcc: c@d.example' },
      message: 'External token attribute email cannot be mapped to user attribute email',
    },
    { name: 'a user name with a line break', claims: { sub: 'a\nb' }, message: 'Unable to map claim to a username' },
    {
      name: 'a given name with a NUL character',
      claims: { given_name: 'a\0' },
      message: 'External token attribute given_name cannot be mapped to user attribute given_name',
    },
  ]
  for (const { name, claims, mappings, message } of refusals) {
    it(`refuses ${name}`, () => assert.throws(() => read(claims, mappings), new UnmappableClaims(message)))
  }
})

describe('externalUserOf: groups, attributes and context classes', () => {
  const GROUPS = { external_groups: 'groups' }
  const read = (
    claims: Readonly<Record<string, unknown>>,
    config: MappingConfig,
    compatibility: CompatibilityMode = 'standard',
  ): ExternalUser =>
    externalUserOf({ sub: 's', ...claims }, config, { now: NOW, behaviour: behaviourOf(compatibility) })

  const groups: readonly {
    name: string
    claims: Readonly<Record<string, unknown>>
    config: MappingConfig
    compatibility?: CompatibilityMode
    want: ExternalUser['groups']
  }[] = [
    {
      name: 'returns no groups without a mapping',
      claims: { groups: ['a'] },
      config: {},
      want: { mapped: [], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'returns no groups with an empty mapping',
      claims: { '': ['a'] },
      config: { attributeMappings: { external_groups: '' } },
      want: { mapped: [], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'maps groups explicitly by default',
      claims: { groups: ['a', 'b c', 'a'] },
      config: { attributeMappings: GROUPS },
      want: { mapped: ['a', 'b c'], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'treats a string as the name of one group',
      claims: { groups: 'x,Shop.Admin' },
      config: { attributeMappings: GROUPS },
      want: { mapped: ['x,Shop.Admin'], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'splits a string at commas in uaa, but not the strings of a list',
      compatibility: 'uaa',
      claims: { groups: 'a, b,,c', more: ['d,e'] },
      config: { attributeMappings: { external_groups: ['groups', 'more'] } },
      want: { mapped: ['a', 'b', 'c', 'd,e'], roles: 'memberships', addsMissing: true },
    },
    // Partly covers identity provider common config: externalGroupsWhitelist
    // Covers oidc and oauth provider config: groupMappingMode
    {
      name: 'returns groups as scopes with the whitelist for AS_SCOPES',
      claims: { groups: ['a'] },
      config: { attributeMappings: GROUPS, groupMappingMode: 'AS_SCOPES', externalGroupsWhitelist: ['x.*'] },
      want: { asScopes: ['a'], keeps: ['x.*'], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'returns no groups if the claim is missing',
      claims: {},
      config: { attributeMappings: GROUPS },
      want: { mapped: [], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'ignores groups that are not strings, too long or have a NUL character',
      claims: { groups: [7, null, {}, ['a'], 'x'.repeat(256), 'a\0', 'ok'] },
      config: { attributeMappings: GROUPS },
      want: { mapped: ['ok'], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'ignores groups that are an object',
      claims: { groups: { a: 'b' } },
      config: { attributeMappings: GROUPS },
      want: { mapped: [], roles: 'memberships', addsMissing: true },
    },
    {
      name: 'returns no roles if storeCustomAttributes is false',
      claims: { groups: ['a'] },
      config: { attributeMappings: GROUPS, storeCustomAttributes: false },
      want: { mapped: ['a'], roles: [], addsMissing: true },
    },
  ]
  for (const { name, claims, config, compatibility, want } of groups) {
    it(name, () => assert.deepEqual(read(claims, config, compatibility).groups, want))
  }

  const attributes: readonly {
    name: string
    claims: Readonly<Record<string, unknown>>
    config: MappingConfig
    want: ExternalUser['attributes']
  }[] = [
    {
      name: 'reads mapped attributes as lists of strings',
      claims: { cc: 'X1', list: ['a', 'a', 7], flag: true, object: { a: 1 }, other: 'o' },
      config: {
        attributeMappings: {
          'user.attribute.costCentre': 'cc',
          'user.attribute.list': 'list',
          'user.attribute.flag': ['flag', 'object'],
          'user.attribute.': 'other',
        },
      },
      want: { costCentre: ['X1'], list: ['a', 'a', '7'], flag: ['true', '{"a":1}'] },
    },
    {
      name: 'returns an empty attribute if no value can be stored',
      claims: { b: null, c: '', d: ['x'.repeat(256), 'a\0'] },
      config: {
        attributeMappings: Object.fromEntries(['a', 'b', 'c', 'd'].map(name => [`user.attribute.${name}`, name])),
      },
      want: { a: [], b: [], c: [], d: [] },
    },
    // Partly covers identity provider common config: storeCustomAttributes
    {
      name: 'returns no attribute values if storeCustomAttributes is false',
      claims: { a: 'x' },
      config: { attributeMappings: { 'user.attribute.a': 'a' }, storeCustomAttributes: false },
      want: { a: [] },
    },
  ]
  for (const { name, claims, config, want } of attributes) {
    it(name, () => assert.deepEqual(read(claims, config).attributes, want))
  }

  const classes: readonly { acr: unknown; want: readonly string[] | undefined }[] = [
    { acr: 'urn:mfa', want: ['urn:mfa'] },
    { acr: { values: ['a', 'b', 7] }, want: ['a', 'b'] },
    { acr: ['a'], want: undefined },
    { acr: { values: 'a' }, want: ['a'] },
    { acr: 'x'.repeat(256), want: undefined },
    { acr: '', want: undefined },
    { acr: 1, want: undefined },
  ]
  for (const { acr, want } of classes) {
    it(`reads ${JSON.stringify(acr).slice(0, 30)} as context classes`, () => {
      assert.deepEqual(read({ acr }, {}).acr, want)
    })
  }
})

describe('createOidcSettings', () => {
  const clock = createTestClock()
  const provider = (config: Readonly<Record<string, unknown>>): IdentityProvider => ({
    zoneId: 'svc',
    id: 'p',
    originKey: 'corp',
    type: 'oidc1.0',
    name: 'Corp',
    active: true,
    config,
    version: 0,
    createdAt: clock.now(),
    updatedAt: clock.now(),
  })
  const DOCUMENT = { issuer: 'i', token_endpoint: 't', jwks_uri: 'k' }

  function upstream(answer: (share: OutboundShare | undefined) => unknown) {
    const asked: string[] = []
    const outbound: Outbound = {
      fetch: () => Promise.reject(new Error('not asked for')),
      async getJson(url, share) {
        asked.push(url)
        return { value: await answer(share), headers: new Headers() }
      },
    }
    const settings = createOidcSettings({ outbound, clock })
    const settingsOf = (of: IdentityProvider, wanted: SettingsPurpose = 'keys') => settings.read(of, { wanted })
    return { asked, settings, settingsOf }
  }

  it('peek returns known settings immediately, and fetches the document in the background', async () => {
    const { asked, settings, settingsOf } = upstream(() => DOCUMENT)
    const whole = { authUrl: 'a', tokenUrl: 't', issuer: 'own', tokenKeyUrl: 'own-keys', discoveryUrl: 'd' }
    assert.equal(settings.peek(provider(whole), 'endpoints')?.authUrl, 'a')
    assert.deepEqual(asked, [])
    const corp = provider({ discoveryUrl: 'peeked' })
    assert.equal(settings.peek(corp), undefined)
    await settingsOf(corp)
    assert.equal(settings.peek(corp)?.issuer, 'i')
    assert.deepEqual(asked, ['peeked'])
    clock.advance(601)
    assert.equal(settings.peek(corp)?.issuer, 'i', 'an expired document is returned meanwhile')
    assert.deepEqual(asked, ['peeked', 'peeked'])
    await settingsOf(corp)
    assert.deepEqual(asked, ['peeked', 'peeked'])
  })

  it('retries immediately after OutboundBusy', async () => {
    let isBusy = true
    const { asked, settingsOf } = upstream(() => {
      if (isBusy) throw new OutboundBusy('https://corp.example')
      return DOCUMENT
    })
    const corp = provider({ discoveryUrl: 'busy' })
    await assert.rejects(settingsOf(corp), OutboundBusy)
    isBusy = false
    assert.equal((await settingsOf(corp)).issuer, 'i')
    assert.equal(asked.length, 2)
  })

  it('reads the document for each zone: one whose requests fail delays and refuses nobody in another', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { settingsOf } = upstream(share => {
      if (share?.zoneId === 'waits') return promise
      if (share?.zoneId === 'fails') throw new OutboundError('timeout', 'https://corp.example: no complete response')
      return DOCUMENT
    })
    const issuerIn = async (zoneId: string) => (await settingsOf({ ...provider({ discoveryUrl: 'd' }), zoneId })).issuer
    const waiting = issuerIn('waits')
    assert.equal(await issuerIn('fails'), undefined)
    assert.equal(await issuerIn('works'), 'i')
    resolve(DOCUMENT)
    assert.equal(await waiting, 'i')
  })

  it('does not fetch the document if the record has every setting', async () => {
    const { asked, settingsOf } = upstream(() => DOCUMENT)
    const config = { issuer: 'own', tokenKeyUrl: 'own-keys', relyingPartyId: 'me', discoveryUrl: 'd' }
    assert.deepEqual(await settingsOf(provider(config)), {
      issuer: 'own',
      tokenKeyUrl: 'own-keys',
      relyingPartyId: 'me',
    })
    assert.deepEqual(asked, [])
  })

  it('fills in only settings missing in the record', async () => {
    const { settingsOf } = upstream(() => DOCUMENT)
    assert.deepEqual(await settingsOf(provider({ discoveryUrl: 'd', tokenKey: 'pem' })), {
      issuer: 'i',
      tokenKey: 'pem',
      tokenKeyUrl: 'k',
    })
    assert.deepEqual(await settingsOf(provider({ discoveryUrl: 'd', issuer: 'own' })), {
      issuer: 'own',
      tokenKeyUrl: 'k',
    })
  })

  it('uses the token URL as issuer if none is set', async () => {
    const { settingsOf } = upstream(() => ({ token_endpoint: 't' }))
    assert.equal((await settingsOf(provider({ tokenUrl: 'own' }))).issuer, 'own')
    assert.equal((await settingsOf(provider({ discoveryUrl: 'd' }))).issuer, 't')
  })

  it('caches a document for ten minutes, and fetches it once for concurrent reads', async () => {
    const { asked, settingsOf } = upstream(() => DOCUMENT)
    const corp = provider({ discoveryUrl: 'd' })
    await Promise.all([settingsOf(corp), settingsOf(corp), settingsOf(corp)])
    clock.advance(599)
    await settingsOf(corp)
    assert.equal(asked.length, 1)
    clock.advance(1)
    await settingsOf(corp)
    assert.equal(asked.length, 2)
  })

  const useless = [
    {
      name: 'cannot be fetched',
      answer: () => {
        throw new OutboundError('unreachable', 'no')
      },
    },
    { name: 'is a list', answer: () => [DOCUMENT] },
    { name: 'is null', answer: () => null },
    { name: 'has overlong members', answer: () => ({ issuer: 'x'.repeat(1001), jwks_uri: 'x'.repeat(60_000) }) },
    { name: 'has members of other types', answer: () => ({ issuer: 7, token_endpoint: {}, jwks_uri: [] }) },
  ]
  for (const { name, answer } of useless) {
    it(`ignores a document that ${name}`, async () => {
      const { settingsOf } = upstream(answer)
      assert.deepEqual(await settingsOf(provider({ discoveryUrl: 'd', relyingPartyId: 'me' })), {
        relyingPartyId: 'me',
      })
    })
  }

  it('retries immediately after the circuit breaker was open', async () => {
    let isPaused = true
    const { asked, settingsOf } = upstream(() => {
      if (isPaused) throw new OutboundError('paused', 'no')
      return DOCUMENT
    })
    const corp = provider({ discoveryUrl: 'paused' })
    assert.equal((await settingsOf(corp)).issuer, undefined)
    isPaused = false
    assert.equal((await settingsOf(corp)).issuer, 'i')
    assert.equal(asked.length, 2)
  })

  it('keeps a document for an hour while no outbound slot is free', async () => {
    let isBusy = false
    const { settingsOf } = upstream(() => {
      if (isBusy) throw new OutboundBusy('https://corp.example')
      return DOCUMENT
    })
    const found = provider({ discoveryUrl: 'stale' })
    await settingsOf(found)
    isBusy = true
    clock.advance(3000)
    assert.equal((await settingsOf(found)).issuer, 'i')
    clock.advance(700)
    await assert.rejects(settingsOf(found), OutboundBusy)
  })

  for (const failure of ['timeout', 'paused'] as const) {
    it(`keeps a document for an hour if it cannot be fetched again: ${failure}`, async () => {
      let isUp = true
      const { settingsOf } = upstream(() => {
        if (!isUp) throw new OutboundError(failure, 'no')
        return DOCUMENT
      })
      const found = provider({ discoveryUrl: 'stale' })
      assert.equal((await settingsOf(found)).issuer, 'i')
      isUp = false
      clock.advance(3000)
      assert.equal((await settingsOf(found)).issuer, 'i')
      clock.advance(700)
      assert.equal((await settingsOf(found)).issuer, undefined)
    })
  }

  it('peek fetches at most four documents at a time', async () => {
    const { asked, settings } = upstream(() => DOCUMENT)
    for (let index = 0; index < 100; index += 1) settings.peek(provider({ discoveryUrl: `page-${index}` }))
    assert.equal(asked.length, 4)
    await new Promise(setImmediate)
    for (let index = 0; index < 100; index += 1) settings.peek(provider({ discoveryUrl: `page-${index}` }))
    assert.equal(asked.length, 8)
  })

  it('waits 30 seconds after a timeout before fetching again', async () => {
    const { asked, settingsOf } = upstream(() => {
      throw new OutboundError('timeout', 'no')
    })
    const corp = provider({ discoveryUrl: 'd' })
    for (const seconds of [0, 29, 1]) {
      clock.advance(seconds)
      await settingsOf(corp)
    }
    assert.equal(asked.length, 2)
  })
})

describe('createTokenCheck', () => {
  const inTurn = <T>(_: string, verify: () => Promise<T>): Promise<T> => verify()
  const foreignKeys = { find: () => Promise.resolve(undefined), inTurn }
  const check = createTokenCheck({ foreignKeys, clock: createTestClock(NOW.getTime()) })
  const claims = JSON.stringify({ iss: 'issuer', aud: 'me', exp: NOW.getTime() / 1000 + 60, sub: 'x' })
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey

  async function outcomeOf(
    privateKey: KeyObject,
    payload: Buffer = Buffer.from(claims),
    respelled: (signature: string) => string = signature => signature,
  ): Promise<unknown> {
    const signed = [Buffer.from('{"alg":"RS256"}'), payload].map(part => part.toString('base64url')).join('.')
    const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
    const tokenKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
    return (await check(`${signed}.${respelled(signature)}`, { issuer: 'issuer', relyingPartyId: 'me', tokenKey }))
      .outcome
  }

  it('refuses PEM keys that are too weak or have a large exponent', async () => {
    assert.equal(await outcomeOf(rsaKeys().privateKey), 'verified')
    assert.equal(await outcomeOf(weak), 'refused')
    assert.equal(await outcomeOf(keyOfLongExponent()), 'refused')
  })

  it('refuses claims that are not UTF-8', async () => {
    const key = rsaKeys().privateKey
    const subjectOf = (character: string): Buffer => Buffer.from(claims.replace('"x"', `"${character}"`), 'latin1')
    assert.equal(await outcomeOf(key, subjectOf('e')), 'verified')
    assert.equal(await outcomeOf(key, subjectOf('\xe9')), 'refused')
  })

  for (const [name, added] of [
    ['padding', '=='],
    ['a line break', '\n'],
  ] as const) {
    it(`refuses a signature with ${name} after it (RFC 7515 §2)`, async () => {
      assert.equal(
        await outcomeOf(rsaKeys().privateKey, Buffer.from(claims), signature => signature + added),
        'refused',
      )
    })
  }
})
