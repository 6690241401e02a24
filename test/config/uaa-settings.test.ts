import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { flatSettings, translateSettings } from '../../src/config/uaa/uaa-settings.ts'
import { loadText, temporaryFolder } from '../support/config.ts'
import { runToEnd } from '../support/process.ts'

/** The settings and outcomes for one file. */
function translated(text: string) {
  const { config, outcomes } = translateSettings(flatSettings([parse(text)]))
  const { service: _service, compatibility: _mode, ...settings } = config
  return { settings, outcomes: Object.fromEntries(outcomes.map(({ key, outcome }) => [key, outcome])) }
}

/** UAA settings and their translation. */
const TRANSLATED: readonly { readonly name: string; readonly text: string; readonly settings: object }[] = [
  // Covers import-uaa: general: issuer.uri
  {
    name: 'the issuer',
    text: 'issuer: { uri: "https://uaa.example/uaa" }',
    settings: { base_url: 'https://uaa.example/uaa' },
  },
  // Covers import-uaa: general: zones.internal.hostnames; clientMaxCount; userMaxCount; groupMaxCount
  // Covers import-uaa: general: scim.userids_enabled
  {
    name: 'hosts and limits, also as strings',
    text: 'zones.internal.hostnames: a.example, b.example\nclientMaxCount: "7"\nuserMaxCount: 8\ngroupMaxCount: 9\nscim: { userids_enabled: "False" }',
    settings: {
      zones: { internal: { hostnames: ['a.example', 'b.example'] } },
      clientMaxCount: 7,
      userMaxCount: 8,
      groupMaxCount: 9,
      scim: { userids_enabled: false },
    },
  },
  {
    name: 'the URLs of the default zone',
    text: 'zones.internal.hostnames: [Internal.example]\nlogin: { url: "https://login.example/uaa/", entityBaseURL: "https://login.example/uaa" }\nuaa: { url: "https://uaa.example/uaa" }\nissuer: { uri: "https://uaa.example/uaa" }',
    settings: {
      base_url: 'https://uaa.example/uaa',
      zones: { internal: { hostnames: ['internal.example', 'login.example'] } },
    },
  },
  {
    name: 'the host of a URL whose other hosts are manual',
    text: 'zones.internal.hostnames: ["${domain}"]\nlogin: { url: "https://login.example" }\nissuer: { uri: "https://uaa.example" }',
    settings: { base_url: 'https://uaa.example', zones: { internal: { hostnames: ['login.example'] } } },
  },
  {
    name: 'unanchored path patterns',
    text: "cors: { default: { allowed: { uris: ['^/uaa/info$', '/userinfo', '^/a$|^/b$', '.*'], origins: ['^https://a\\.example$'] } } }",
    settings: {
      cors: {
        default: {
          allowed: {
            uris: ['^/uaa/info$', '.*(?:/userinfo).*', '.*(?:^/a$|^/b$).*', '.*'],
            origins: ['^https://a\\.example$'],
          },
        },
      },
    },
  },
  // Covers import-uaa: general: uaa.limitedFunctionality.statusFile; uaa.limitedFunctionality.whitelist.endpoints
  // Covers import-uaa: general: uaa.limitedFunctionality.whitelist.methods; uaa.health.db.rate; uaa.shutdown.sleep
  // Covers import-uaa: general: metrics.enabled; metrics.perRequestMetrics; statsd.enabled; oauth.id_token.disable
  // Covers import-uaa: general: authentication.enableUriEncodingCompatibilityMode; servlet.idle-timeout
  // Covers import-uaa: general: uaa.oauth.redirect_uri.allow_unsafe_matching; servlet.session-cookie.max-age
  {
    name: 'server settings',
    text: `uaa:
  limitedFunctionality: { statusFile: /tmp/limited, whitelist: { endpoints: [/login], methods: [GET] } }
  health.db.rate: 5000
  shutdown: { sleep: 1000 }
  oauth.redirect_uri.allow_unsafe_matching: false
metrics: { enabled: true, perRequestMetrics: true }
statsd: { enabled: true }
oauth: { id_token: { disable: true } }
authentication: { enableUriEncodingCompatibilityMode: true }
servlet: { idle-timeout: 600, session-cookie: { max-age: 3600 } }`,
    settings: {
      uaa: {
        limitedFunctionality: { statusFile: '/tmp/limited', whitelist: { endpoints: ['/login'], methods: ['GET'] } },
        health: { db: { rate: 5000 } },
        shutdown: { sleep: 1000 },
        oauth: { redirect_uri: { allow_unsafe_matching: false } },
      },
      metrics: { enabled: true, perRequestMetrics: true },
      statsd: { enabled: true },
      oauth: { id_token: { disable: true } },
      authentication: { enableUriEncodingCompatibilityMode: true },
      servlet: { 'idle-timeout': 600, 'session-cookie': { 'max-age': 3600 } },
    },
  },
  // Covers import-uaa: smtp: smtp.host; smtp.port; smtp.starttls; smtp.from_address
  {
    name: 'the mail server',
    text: 'smtp: { host: mail.example, port: 587, auth: true, starttls: true, from_address: id@example.org }',
    settings: { smtp: { host: 'mail.example', port: 587, starttls: true, from: 'id@example.org' } },
  },
  {
    name: 'a mail server without a host to nothing',
    text: 'smtp: { port: 25, from_address: id@example.org }',
    settings: {},
  },
  // Covers import-uaa: policies: password.policy.global.*; authentication.policy.global.*
  {
    name: 'policies of all zones',
    text: 'password.policy.global.minLength: 8\nauthentication.policy.global.lockoutAfterFailures: 3',
    settings: {
      password: { policy: { global: { minLength: 8 } } },
      authentication: { policy: { global: { lockoutAfterFailures: 3 } } },
    },
  },
  // Covers import-uaa: jwt: jwt.token.refresh.restrict_grant; jwt.token.claims.exclude; jwt.token.queryString.enabled
  {
    name: 'token settings',
    text: 'jwt: { token: { refresh: { restrict_grant: true }, claims: { exclude: [email] }, queryString: { enabled: false } } }',
    settings: {
      jwt: {
        token: { refresh: { restrict_grant: true }, claims: { exclude: ['email'] }, queryString: { enabled: false } },
      },
    },
  },
  // Covers import-uaa: login and links: links.global.signup; links.global.passwd; links.global.homeRedirect
  // Covers import-uaa: login and links: login.aliasEntitiesEnabled
  // Covers import-uaa: SAML service provider: login.entityID; login.saml.maxAuthenticationAge
  {
    name: 'links, aliases and the SAML entity id',
    text: 'links: { global: { signup: "https://a.example/", passwd: "https://b.example/", homeRedirect: "https://c.example/" } }\nlogin: { aliasEntitiesEnabled: true, entityID: sp, saml: { maxAuthenticationAge: 7776000 } }',
    settings: {
      links: {
        global: { signup: 'https://a.example/', passwd: 'https://b.example/', homeRedirect: 'https://c.example/' },
      },
      login: { aliasEntitiesEnabled: true },
      saml: { entity_id: 'sp', max_authentication_age: 7_776_000 },
    },
  },
  // Covers import-uaa: cors: cors.xhr.allowed.uris; cors.xhr.allowed.origins; cors.xhr.allowed.headers
  // Covers import-uaa: cors: cors.xhr.allowed.methods; cors.xhr.allowed.credentials; cors.xhr.max_age
  // Covers import-uaa: cors: cors.default.allowed.uris; cors.default.allowed.origins; cors.default.allowed.headers
  // Covers import-uaa: cors: cors.default.allowed.methods; cors.default.allowed.credentials; cors.default.max_age
  // Covers import-uaa: cors: cors.enforceSystemZonePolicyInAllZones
  {
    name: 'CORS policies',
    text: `cors:
  enforceSystemZonePolicyInAllZones: true
  xhr: &one { max_age: 60, allowed: { uris: [/userinfo], origins: ["https://a.example"], headers: [Accept], methods: [GET], credentials: true } }
  default: *one`,
    settings: { cors: { enforceSystemZonePolicyInAllZones: true, xhr: CORS(), default: CORS() } },
  },
]

function CORS(): object {
  return {
    max_age: 60,
    allowed: {
      uris: ['.*(?:/userinfo).*'],
      origins: ['https://a.example'],
      headers: ['Accept'],
      methods: ['GET'],
      credentials: true,
    },
  }
}

describe('translateSettings', () => {
  const folder = temporaryFolder()

  for (const { name, text, settings } of TRANSLATED) {
    it(`translates ${name}`, async () => {
      assert.deepEqual(translated(text).settings, settings)
      await loadText(folder, JSON.stringify(settings)) // throws if the configuration is invalid
    })
  }

  const outcomes: readonly {
    readonly name: string
    readonly text: string
    readonly want: Readonly<Record<string, string>>
  }[] = [
    // Partly covers import-uaa: oauth: oauth.client.override; oauth.client.autoapprove; oauth.user.authorities
    // Partly covers import-uaa: oauth: oauth.clients
    // Partly covers import-uaa: general: disableInternalAuth; disableInternalUserManagement
    // Partly covers import-uaa: jwt: jwt.token.policy.activeKeyId; jwt.token.policy.keys.<id>.signingKey
    // Partly covers import-uaa: jwt: jwt.token.policy.keys.<id>.signingCert; jwt.token.policy.keys.<id>.signingAlg
    // Partly covers import-uaa: scim: scim.group_membership; scim.user.override; scim.groups as a map
    {
      name: 'imports settings that UAA stores in its database',
      text: 'oauth: { clients: { app: { secret: s3cret, scope: openid } }, user: { authorities: [openid] } }\nscim: { users: ["a|b"] }\nldap: { base: { password: s3cret } }\npassword.policy.minLength: 3\njwt.token.policy.keys.k.signingKey: s3cret',
      want: {
        'oauth.clients': 'imported',
        'oauth.user.authorities': 'imported',
        'scim.users': 'imported',
        ldap: 'imported',
        'password.policy': 'imported',
        'jwt.token.policy': 'imported',
      },
    },
    // Covers import-uaa: delete and inert keys: rule: inert keys are reported
    {
      name: 'reports settings without effect as unused',
      text: 'multitenant: {}\nname: uaa\nencryption: { active_key_label: x }',
      want: { name: 'unused', encryption: 'unused' },
    },
    {
      name: 'reports settings without a counterpart as manual',
      text: 'jwt: { token: { policy: { global: { accessTokenValiditySeconds: 600 } }, signing-key: s3cret } }\nsurprise: { member: 1 }\nconstructor: 2\nrequire_https: true\nlogin: { saml: { signRequest: false, nameID: x } }',
      want: {
        'jwt.token.policy.global': 'manual',
        'jwt.token.signing-key': 'manual',
        'surprise.member': 'manual',
        constructor: 'manual',
        require_https: 'manual',
        'login.saml.signRequest': 'manual',
        'login.saml.nameID': 'manual',
      },
    },
    {
      name: 'reports defaults as unused',
      text: 'login: { saml: { signRequest: true }, url: "https://u.example" }\nissuer: { uri: "https://u.example" }',
      want: { 'login.saml.signRequest': 'unused', 'login.url': 'unused', 'issuer.uri': 'translated' },
    },
    {
      name: 'reports defaults of uaa-release as unused',
      text: `jwt.token.policy.global: { accessTokenValiditySeconds: 43200, refreshTokenValiditySeconds: 2592000 }
csp: { script-src: ["'self'"] }
login: { saml: { signMetaData: true, signatureAlgorithm: SHA256 } }`,
      want: {
        'jwt.token.policy.global.accessTokenValiditySeconds': 'unused',
        'jwt.token.policy.global.refreshTokenValiditySeconds': 'unused',
        'csp.script-src': 'unused',
        'login.saml.signMetaData': 'unused',
        'login.saml.signatureAlgorithm': 'unused',
      },
    },
    {
      name: 'reports other values of those settings as manual',
      text: `csp: { script-src: ["'self'", cdn.example] }
login: { saml: { signMetaData: false, signatureAlgorithm: SHA1 }, url: "https://l.example:8443" }
issuer: { uri: "https://u.example" }
global: { jwk: { trust: { key: s3cret } } }
cors: { xhr: { allowed: { origin: [^localhost$] } }, default: { allowed: { origins: [shop.example$] } } }`,
      want: {
        'csp.script-src': 'manual',
        'login.saml.signMetaData': 'manual',
        'login.saml.signatureAlgorithm': 'manual',
        'login.url': 'manual',
        'issuer.uri': 'translated',
        'global.jwk': 'manual',
        'cors.xhr.allowed.origin': 'manual',
        'cors.default.allowed.origins': 'manual',
      },
    },
    {
      name: 'reads the host of the SAML entity id as its alias',
      text: 'login: { entityID: "http://login.example", saml: { entityIDAlias: login.example } }',
      want: { 'login.entityID': 'translated', 'login.saml.entityIDAlias': 'unused' },
    },
    {
      name: 'reports another alias as manual',
      text: 'login: { entityID: "http://login.example", saml: { entityIDAlias: sp } }',
      want: { 'login.entityID': 'translated', 'login.saml.entityIDAlias': 'manual' },
    },
    {
      name: 'reports an invalid value or a reference as manual',
      text: 'clientMaxCount: many\nuserMaxCount: "${clientMaxCount}"\ncors: { xhr: { max_age: [1] } }',
      want: { clientMaxCount: 'manual', userMaxCount: 'manual', 'cors.xhr.max_age': 'manual' },
    },
    {
      name: 'reports unsupported patterns, and those too long once translated, as manual',
      text: `cors: { xhr: { allowed: { uris: ['^/a$', '(?=b)'], headers: ['a b'] } }, default: { allowed: { uris: ['/${'a'.repeat(499)}'] } } }`,
      want: {
        'cors.xhr.allowed.uris': 'manual',
        'cors.xhr.allowed.headers': 'manual',
        'cors.default.allowed.uris': 'manual',
      },
    },
    {
      name: 'reports empty settings as unused',
      text: 'smtp: { host: "" }\nstatsd:',
      want: { 'smtp.host': 'unused', statsd: 'unused' },
    },
  ]
  for (const { name, text, want } of outcomes) {
    it(name, () => {
      assert.deepEqual(translated(text).outcomes, want)
    })
  }

  it('rejects a YAML alias that contains itself', () => {
    const endless: Record<string, unknown> = {}
    endless['again'] = endless
    assert.throws(() => flatSettings([endless]), RangeError)
  })
})

describe('latchkey import-uaa --settings', () => {
  const folder = temporaryFolder()
  const run = (...args: readonly string[]) => runToEnd(['import-uaa', ...args], { folder })

  // Covers latchkey import-uaa: --settings
  // Covers import-uaa: loading: rule: deep merge, later wins
  // Covers import-uaa: smtp: smtp.user; smtp.password
  it('prints a valid configuration without secrets', async () => {
    writeFileSync(
      join(folder, 'uaa.yml'),
      'issuer: { uri: "https://old.example" }\nsmtp: { host: mail.example, user: uaa, password: s3cret }\noauth: { clients: { app: { secret: s3cret } } }',
    )
    writeFileSync(
      join(folder, 'more.yml'),
      'issuer: { uri: "https://uaa.example" }\ndatabase: { url: "jdbc:postgresql://db/uaa", password: s3cret }',
    )
    const { status, stdout, stderr } = await run('--settings', 'uaa.yml,more.yml')
    assert.equal(status, 1)
    assert.equal(
      stderr,
      "translated: issuer.uri, smtp.host, smtp.user\nwith UAA's database: oauth.clients\nnot needed: database: it concerns UAA's own database, which import-uaa reads by --from\nmanual: smtp.password: set SMTP_PASSWORD in the environment of the server\n",
    )
    assert.ok(!stdout.includes('s3cret'))
    const config = await loadText(folder, stdout, { env: { SMTP_PASSWORD: 'x' } })
    assert.deepEqual([config.service, config.compatibility, config.baseUrl], ['uaa', 'uaa', 'https://uaa.example'])
  })

  it('exits with status 0 if nothing is manual', async () => {
    writeFileSync(join(folder, 'small.yml'), 'issuer: { uri: "https://uaa.example" }')
    assert.equal((await run('--settings', 'small.yml')).status, 0)
  })

  it('rejects missing files, invalid YAML and other options', async () => {
    writeFileSync(join(folder, 'bad.yml'), 'a: [1')
    assert.deepEqual(
      [(await run('--settings', 'missing.yml')).status, (await run('--settings', 'bad.yml')).status],
      [2, 2],
    )
    assert.match(
      (await run('--settings', 'small.yml', '--apply')).stderr,
      /'--settings' and '--apply' exclude each other/,
    )
  })
})
