import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { behaviourOf, differenceIds } from '../../src/model/compatibility.ts'

const standard = behaviourOf('standard')
const uaa = behaviourOf('uaa')

describe('behaviourOf', () => {
  it('has the name of its mode', () => {
    assert.deepEqual([standard.mode, uaa.mode], ['standard', 'uaa'])
  })

  it('has every row of the table, each differing between the modes', () => {
    const names = Object.keys(differenceIds)
    assert.ok(names.length > 0)
    for (const behaviour of [standard, uaa]) {
      assert.deepEqual(Object.keys(behaviour).toSorted(), [...names, 'mode'].toSorted())
    }
    const differing = Object.entries(standard).filter(([name, value]) => {
      const other: unknown = Reflect.get(uaa, name)
      return JSON.stringify(value) !== JSON.stringify(other)
    })
    assert.deepEqual(
      differing.map(([name]) => name).toSorted(),
      [...names, 'mode'].toSorted(),
      'a row that is equal in both modes is no row',
    )
  })

  // Both columns as the interface pages have them: a table of lifetimes, texts and refusals is easily mistyped.
  const cases = [
    { name: 'the issuer path (M1)', row: 'issuerPath', want: ['', '/oauth/token'] },
    { name: 'a direct visit to /rejected (P4)', row: 'rejectedStatus', want: [400, 200] },
    { name: 'the minimum password length (P5)', row: 'minPasswordLength', want: [8, 0] },
    { name: 'second factors by default (P12)', row: 'secondFactorByDefault', want: ['optional', 'off'] },
    { name: 'refusing guessable passwords (P7)', row: 'refuseGuessablePasswords', want: [true, false] },
    { name: 'the lifetime of a code (R10)', row: 'codeSeconds', want: [60, 300] },
    { name: 'the lifetime of an access token (T9)', row: 'accessTokenSeconds', want: [3600, 43_200] },
    { name: 'seconds subtracted from expires_in (T9)', row: 'expiresInLag', want: [0, 1] },
    {
      name: 'prompt=none when approval is required (R7)',
      row: 'consentRequired',
      want: ['consent_required', 'interaction_required'],
    },
    {
      name: 'wrong user name or password (C11)',
      row: 'badCredentials',
      want: ['invalid_grant 400', 'invalid_client 401'],
    },
    { name: 'a missing password (C11)', row: 'missingPassword', want: ['invalid_request 400', 'invalid_client 401'] },
    { name: 'a missing assertion (C11)', row: 'missingAssertion', want: ['invalid_request 400', 'unauthorized 401'] },
    {
      name: 'an assertion that cannot be verified (C11)',
      row: 'untrustedAssertion',
      want: ['invalid_grant 400', 'invalid_token 401'],
    },
    { name: 'an unusable assertion (C11)', row: 'unusableAssertion', want: ['invalid_grant 400', 'unauthorized 401'] },
    { name: 'an empty passcode (C11)', row: 'missingPasscode', want: ['invalid_request 400', 'unauthorized 401'] },
    { name: 'a wrong passcode (C11)', row: 'badPasscode', want: ['invalid_grant 400', 'unauthorized 401'] },
    { name: 'a refused sign-in (C11)', row: 'signInRefused', want: ['invalid_grant 400', 'unauthorized 401'] },
    { name: 'an unverified account (C11)', row: 'unverifiedAccount', want: ['invalid_grant 400', 'access_denied 403'] },
    {
      name: 'an unusable login hint (C11)',
      row: 'unusableLoginHint',
      want: ['invalid_request 400', 'unauthorized 401'],
    },
    {
      name: 'a provider not allowed for the client (C11)',
      row: 'providerBarred',
      want: ['unauthorized_client 400', 'unauthorized 401'],
    },
    {
      name: 'a provider not allowed for the client, after sign-in (C11)',
      row: 'userProviderBarred',
      want: ['unauthorized_client 400', 'unauthorized_client 401'],
    },
    {
      name: 'no applicable provider (C11)',
      row: 'noProviderLeft',
      want: ['unauthorized_client 400', 'invalid_client 401'],
    },
    {
      name: 'several applicable providers (C11)',
      row: 'severalProvidersLeft',
      want: ['invalid_request 400', 'invalid_client 401'],
    },
    {
      name: 'a grant the client may not use (C11)',
      row: 'grantNotAllowed',
      want: ['unauthorized_client 400', 'invalid_client 401'],
    },
    {
      name: 'an invalid refresh token (C11)',
      row: 'badRefreshToken',
      want: ['invalid_grant 400', 'invalid_token 401'],
    },
    {
      name: 'a refresh token without the offline scope (C11)',
      row: 'offlineScopeMissing',
      want: ['invalid_grant 400', 'insufficient_scope 403'],
    },
    { name: 'the code of another client (C11)', row: 'foreignCode', want: ['invalid_grant 400', 'invalid_client 401'] },
    {
      name: 'missing required groups (C11)',
      row: 'requiredGroupsLost',
      want: ['invalid_grant 400', 'invalid_token 401'],
    },
    { name: 'no scope to grant (C11)', row: 'nothingGranted', want: ['invalid_scope 400', 'invalid_token 401'] },
    {
      name: 'the implicit grant at the token endpoint (C11)',
      row: 'implicitAtToken',
      want: ['unsupported_grant_type 400', 'invalid_grant 400'],
    },
    {
      name: 'no client credentials (C11)',
      row: 'missingClientCredentials',
      want: ['invalid_client 401', 'unauthorized 401'],
    },
    {
      name: 'invalid client credentials of a login server (E1)',
      row: 'badClientOfLoginServer',
      want: ['invalid_client 401', 'unauthorized 401'],
    },
    {
      name: 'sending the return address of logout as a query (L7)',
      row: 'upstreamReturnByQuery',
      want: [false, true],
    },
    { name: 'an unsolicited SAML sign-in (C10)', row: 'unsolicitedSignIn', want: [false, true] },
    { name: 'SAML discovery links (C10)', row: 'samlDiscoveryLinks', want: [false, true] },
    {
      name: 'default search base of a directory (C15)',
      row: 'directoryPlaces',
      want: [undefined, 'cn={0},ou=Users,dc=test,dc=com dc=test,dc=com'],
    },
    { name: 'no signing key (C11)', row: 'noSigningKey', want: ['server_error 500', 'unauthorized 401'] },
  ]
  const written = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? Object.values(value).join(' ') : value
  for (const { name, row, want } of cases) {
    it(`lists ${name}`, () => {
      assert.deepEqual(
        [standard, uaa].map(behaviour => written(Reflect.get(behaviour, row))),
        want,
      )
    })
  }

  it('otherwise has only switches that `standard` turns on', () => {
    const reported = new Set(cases.map(({ row }) => row))
    const switches = Object.keys(differenceIds).filter(row => !reported.has(row))
    for (const row of switches) {
      assert.deepEqual([Reflect.get(standard, row), Reflect.get(uaa, row)], [true, false], row)
    }
  })
})

describe('differenceIds', () => {
  it('identifies each row by the letter of its area and a number', () => {
    for (const [row, id] of Object.entries(differenceIds)) assert.match(id, /^[MARTCELPN][1-9]\d?$/, row)
  })
})
