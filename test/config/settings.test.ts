import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NEEDED_CLAIMS, DEFAULT_SETTINGS } from '../../src/model/zones/settings.ts'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string) => loadText(folder, text)

describe('Settings of UAA', () => {
  it('are off by default', async () => {
    for (const text of ['{}', 'jwt: { token: {} }\nauthentication: {}\noauth: { id_token: {} }']) {
      assert.deepEqual((await load(text)).settings, DEFAULT_SETTINGS)
    }
    assert.deepEqual(
      Object.values(DEFAULT_SETTINGS).filter(value => value !== false),
      [0, [], { clients: 500, users: 500, groups: 500 }, []],
    )
  })

  it('have UAA’s keys', async () => {
    const { settings } = await load(`compatibility: uaa
jwt:
  token:
    queryString: { enabled: true }
    refresh: { restrict_grant: true, grace_seconds: 10 }
    claims: { exclude: [authorities, email, email] }
authentication: { enableUriEncodingCompatibilityMode: true }
oauth: { id_token: { disable: true } }
login: { aliasEntitiesEnabled: true }
scim: { userids_enabled: false }
clientMaxCount: 1
userMaxCount: 2
groupMaxCount: 3
zones: { internal: { hostnames: [Login.example] } }
uaa: { oauth: { redirect_uri: { allow_unsafe_matching: false } } }`)
    assert.deepEqual(settings, {
      queryString: true,
      restrictRefresh: true,
      refreshGraceSeconds: 10,
      excludedClaims: ['authorities', 'email'],
      plainBasicCredentials: true,
      strictRedirects: true,
      idTokenDisabled: true,
      aliasEntities: true,
      userIdsDisabled: true,
      maxCounts: { clients: 1, users: 2, groups: 3 },
      internalHostnames: ['login.example'],
    })
  })

  it('warn of credentials in URLs if enabled', async () => {
    const warned = async (text: string) =>
      (await load(`compatibility: uaa\n${text}`)).warnings.filter(sentence => sentence.includes('queryString'))
    assert.equal((await warned('jwt: { token: { queryString: { enabled: true } } }')).length, 1)
    assert.equal((await warned('jwt: { token: { queryString: { enabled: false } } }')).length, 0)
  })

  it('warn of lenient redirect URI matching, the default in uaa', async () => {
    for (const [text, want] of [
      ['compatibility: uaa', true],
      ['compatibility: uaa\nuaa: { oauth: { redirect_uri: { allow_unsafe_matching: true } } }', true],
      ['compatibility: uaa\nuaa: { oauth: { redirect_uri: { allow_unsafe_matching: false } } }', false],
      ['uaa: { oauth: { redirect_uri: { allow_unsafe_matching: false } } }', false],
      ['uaa: { oauth: {} }', false],
    ] as const) {
      const { settings, warnings } = await load(text)
      assert.equal(settings.strictRedirects, text.startsWith('compatibility') && !want, text)
      assert.equal(
        warnings.some(sentence => sentence.includes('leniently')),
        want,
        text,
      )
    }
  })

  const refused = [
    // Covers configuration file: uaa.oauth.redirect_uri.allow_unsafe_matching
    {
      name: 'lenient redirect URIs in standard',
      text: 'uaa: { oauth: { redirect_uri: { allow_unsafe_matching: true } } }',
      want: ['uaa.oauth.redirect_uri.allow_unsafe_matching: is only allowed with compatibility: uaa'],
    },
    // Covers configuration file: jwt.token.queryString.enabled
    // Covers unsafe behaviour: query opt-in of uaa mode
    {
      name: 'credentials in URLs in standard',
      text: 'jwt: { token: { queryString: { enabled: true } } }',
      want: ['jwt.token.queryString.enabled: is only allowed with compatibility: uaa'],
    },
    {
      name: 'an unknown key',
      text: 'jwt: { token: { querystring: { enabled: true } } }',
      want: ['jwt.token.querystring: is not a known key; did you mean queryString?'],
    },
    {
      name: 'wrong types, reporting only those',
      text: 'jwt: { token: { claims: { exclude: jti }, queryString: { enabled: "yes" } } }\nauthentication: []\noauth: x',
      want: [
        'authentication: must be a mapping',
        'jwt.token.claims.exclude: must be a list',
        'jwt.token.queryString.enabled: must be true or false',
        'oauth: must be a mapping',
      ],
    },
    {
      name: 'a claim that does not exist',
      text: 'jwt: { token: { claims: { exclude: [""] } } }',
      want: ['jwt.token.claims.exclude[0]: must not be empty'],
    },
  ]
  for (const { name, text, want } of refused) {
    it(`reject ${name}`, async () => {
      assert.deepEqual((await problemsOf(load(text))).toSorted(), want)
    })
  }

  // Covers configuration file: jwt.token.claims.exclude
  it('reject excluding a required claim', async () => {
    const names = [...NEEDED_CLAIMS]
    for (const mode of ['standard', 'uaa']) {
      const text = `compatibility: ${mode}\njwt: { token: { claims: { exclude: [${names.join(', ')}] } } }`
      assert.deepEqual(
        await problemsOf(load(text)),
        names.map(
          (name, index) =>
            `jwt.token.claims.exclude[${index}]: ${name} is needed to verify tokens and cannot be excluded`,
        ),
      )
    }
  })
})
