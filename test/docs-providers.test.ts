// The pages of docs/providers/: each record is sent to a real server, the settings of directories are read as a sign-in reads
// them, and providers of the tests' own say what the pages say that comes back.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isJsonRecord, parseJson } from '../src/base/json.ts'
import type { JsonRecord } from '../src/base/json.ts'
import { readFilter } from '../src/identity/directory/names.ts'
import { readDirectorySettings } from '../src/providers/directory-settings.ts'
import { createTestClock } from './support/clock.ts'
import { loadText, temporaryFolder } from './support/config.ts'
import { githubRecord, startGithub } from './support/github.ts'
import type { Github } from './support/github.ts'
import { LDAP_HINT } from './support/ldap-server.ts'
import { APP } from './support/oauth.ts'
import { RELYING_PARTY } from './support/oidc-provider.ts'
import { serve } from './support/process.ts'
import { base64Of } from './support/saml/saml-xml.ts'
import type { SamlTestAttribute } from './support/saml/saml-parts.ts'
import { comeBack, idpOf, requestIn } from './support/saml/saml-sign-in.ts'
import { defaultBootstrap, startServer } from './support/server.ts'
import type { TestAnswer, TestServer } from './support/server.ts'
import { ACCOUNT, GROUPS, PASSWORD, PEOPLE, startSlapd } from './support/slapd.ts'
import type { Slapd } from './support/slapd.ts'
import { startUpstream } from './support/upstream.ts'
import type { Upstream } from './support/upstream.ts'

const FOLDER = join(import.meta.dirname, '../docs/providers')
const INDEX = readFileSync(join(FOLDER, 'README.md'), 'utf8')
const PAGES = readdirSync(FOLDER).filter(name => name !== 'README.md')

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

const textOf = (page: string): string => readFileSync(join(FOLDER, page), 'utf8')

const blocksIn = (text: string, language: string): readonly string[] =>
  Array.from(text.matchAll(/^```(\w*)\n([^]*?)^```$/gm))
    .filter(match => match[1] === language)
    .map(match => match[2] ?? '')

function objectIn(text: string | undefined): JsonRecord {
  const value = parseJson(text ?? '')
  assert.ok(isJsonRecord(value), text)
  return value
}

/** The record of a page, and its example of returned claims or members, if any. */
function pageOf(page: string) {
  const [text, claims] = blocksIn(textOf(page), 'json')
  const record = objectIn(text)
  const { type, originKey, config } = record
  assert.ok(typeof type === 'string' && typeof originKey === 'string' && isJsonRecord(config))
  return { record, type, originKey, config, claims: claims === undefined ? undefined : objectIn(claims) }
}

const ROOT = {
  client_id: 'root',
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['idps.write', 'idps.read', 'scim.write', 'scim.read'],
}

describe('docs/providers', () => {
  const clock = createTestClock()
  let server: TestServer
  let upstream: Upstream
  let github: Github
  let slapd: Slapd
  let bearer: string

  before(async () => {
    upstream = await startUpstream(clock)
    github = await startGithub()
    slapd = await startSlapd()
    const clients = [...defaultBootstrap.clients, ROOT]
    server = await startServer({ clock, config: { bootstrap: { ...defaultBootstrap, clients } } })
    const answer = await server.token({ grant_type: 'client_credentials' }, { basic: ['root', 'secret'] })
    bearer = answer.json<{ access_token: string }>().access_token
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
    await upstream.stop()
    await github.stop()
    await slapd.stop()
  })

  const headers = { 'content-type': 'application/json' }
  const post = (path: string, body: object) => server.send(path, { body: JSON.stringify(body), bearer, headers })
  const send = (record: object) => post('/identity-providers?rawConfig=true', record)

  it('has a page of the same structure for each provider in the index', () => {
    const linked = Array.from(INDEX.matchAll(/\]\(([a-z-]+\.md)\)/g)).map(([, page]) => page ?? '')
    assert.deepEqual(
      linked.toSorted((a, b) => a.localeCompare(b)),
      PAGES,
    )
    for (const page of PAGES) {
      const headings = Array.from(textOf(page).matchAll(/^## (.*)$/gm)).map(([, heading]) => heading)
      const first = pageOf(page).type === 'ldap' ? 'Prepare the directory' : 'Register Latchkey'
      assert.deepEqual(headings, [first, 'Record', 'Mapped values', 'Pitfalls'], page)
    }
  })

  it('has the type of each record in the index', () => {
    for (const page of PAGES) {
      assert.match(INDEX, new RegExp(`\\(${page}\\) \\| \`${pageOf(page).type}\` \\|`))
    }
  })

  for (const page of PAGES) {
    const { record, type, originKey: origin, config, claims } = pageOf(page)

    it(`has a valid record, whose secret is not shown: ${page}`, async () => {
      const originKey = type === 'ldap' ? 'ldap' : `${origin}-as-it-stands`
      // Metadata is loaded at once.
      const given = type === 'saml' ? { ...config, metaDataLocation: idpOf(clock, origin).metadata() } : config
      const answer = await send({ ...record, originKey, config: given })
      assert.equal(answer.status, 201, answer.text)
      const made = answer.json<{ id: string; config: JsonRecord }>()
      for (const secret of ['relyingPartySecret', 'bindPassword']) assert.ok(!(secret in made.config))
      for (const [name, value] of Object.entries(given)) {
        if (!['relyingPartySecret', 'bindPassword', 'linkByEmail'].includes(name)) {
          assert.deepEqual(made.config[name], value, name)
        }
      }
      // There is one directory in a zone, and one provider with an issuer.
      await server.send(`/identity-providers/${made.id}`, { method: 'DELETE', bearer })
    })

    if (type === 'ldap') {
      it(`has settings with a search account and TLS: ${page}`, () => {
        const { profile, groups, urls, account } = readDirectorySettings(config)
        assert.equal(profile.kind, 'search-and-bind')
        assert.equal(groups.kind, 'search')
        assert.ok(account)
        for (const { tls } of urls) assert.notEqual(tls, 'none')
      })

      it(`has valid filters for users and groups: ${page}`, async () => {
        for (const name of ['userSearchFilter', 'groupSearchFilter']) {
          const filter = await readFilter(String(config[name]), name)
          assert.match(filter({ '{0}': 'zero', '{1}': 'one' }).toString(), /=zero\)/)
        }
      })

      // The rule in the filter is Active Directory's own.
      if (page === 'active-directory.md') continue
      it(`signs users in with nested groups at such a directory: ${page}`, async () => {
        const made = await send({ ...record, config: { ...config, ...atSlapd(config) } })
        assert.equal(made.status, 201, made.text)
        const displayName = `docs.${page}`
        const mapping = { displayName, externalGroup: `cn=staff,${GROUPS}`, origin }
        assert.equal((await post('/Groups', { displayName })).status, 201)
        assert.equal((await post('/Groups/External', mapping)).status, 201)
        const form = { username: 'marissa', password: PASSWORD, login_hint: LDAP_HINT }
        const granted = await server.token({ grant_type: 'password', ...form }, { basic: APP })
        assert.equal(granted.status, 200, granted.text)
        const user = await server.store.users.findByName('svc', 'ldap', 'marissa')
        assert.equal(user?.givenName, 'Marissa')
        assert.equal(user.email, 'marissa@example.org')
        assert.ok((await server.store.groups.namesOfUser('svc', user.id)).includes(displayName))
        const { id } = made.json<{ id: string }>()
        await server.send(`/identity-providers/${id}`, { method: 'DELETE', bearer })
      })
      continue
    }

    if (type === 'saml') {
      it(`has URLs to register, and one of metadata: ${page}`, () => {
        for (const path of ['SSO', 'SingleLogout'])
          assert.ok(textOf(page).includes(`{base}/saml/${path}/alias/{alias}`))
        assert.match(String(config['metaDataLocation']), /^https:/)
        assert.equal(config['nameID'], PERSISTENT)
        const sent = Object.keys(claims ?? {})
        for (const name of Object.values(objectIn(JSON.stringify(config['attributeMappings'])))) {
          assert.ok(sent.includes(String(name)), String(name))
        }
      })

      it(`signs in with the described claims: ${page}`, async () => {
        assert.ok(claims)
        const idp = idpOf(clock, origin)
        const made = await send({ ...record, config: { ...config, metaDataLocation: idp.metadata() } })
        assert.equal(made.status, 201, made.text)
        const mappings = objectIn(JSON.stringify(config['attributeMappings']))
        const [externalGroup] = [claims[String(mappings['external_groups'])]].flat()
        const displayName = `docs.${origin}`
        assert.equal((await post('/Groups', { displayName })).status, 201)
        assert.equal((await post('/Groups/External', { displayName, externalGroup, origin })).status, 201)

        const browser = server.browser()
        const {
          id: inResponseTo,
          relayState,
          xml: request,
        } = requestIn(await browser.send(`/login/external/${origin}`))
        assert.ok(request.includes(PERSISTENT))
        const nameId = String(claims['NameID'])
        const xml = await idp.response({ nameId, inResponseTo, attributes: attributesOf(claims) })
        const answer = await comeBack(server, browser, { SAMLResponse: base64Of(xml), RelayState: relayState })
        assert.equal(answer.headers['location'], 'http://localhost:8080/', answer.text)
        const user = await server.store.users.findByExternalId('svc', origin, nameId)
        assert.equal(user?.email, 'ann@acme.example')
        assert.deepEqual([user.userName, user.givenName, user.familyName, user.verified], [nameId, 'Ann', 'Lee', false])
        assert.ok((await server.store.groups.namesOfUser('svc', user.id)).includes(displayName))
      })
      continue
    }

    it(`has a redirect URI to register: ${page}`, () =>
      assert.ok(textOf(page).includes(`{base}/login/callback/${origin}`)))

    it(`signs in with the described claims: ${page}`, async () => {
      assert.ok(claims)
      const made = await send({ ...record, config: { ...config, ...ourOwn(type) } })
      assert.equal(made.status, 201, made.text)
      const externalId = String(claims['sub'] ?? claims['id'])
      if (config['addShadowUserOnLogin'] === false) {
        const emails = [{ value: claims['email'] ?? 'placeholder@acme.example' }]
        const known = config['linkByEmail'] === true ? {} : { externalId }
        const user = { userName: 'beforehand', origin, emails, name: {}, verified: false, ...known }
        assert.equal((await post('/Users', user)).status, 201)
      }
      const mappings = objectIn(JSON.stringify(config['attributeMappings']))
      const named = (attribute: string): unknown => {
        const claim = mappings[attribute]
        return claims[typeof claim === 'string' ? claim : attribute]
      }
      const [externalGroup] = [named('external_groups') ?? []].flat()
      const displayName = `docs.${origin}`
      if (externalGroup !== undefined) {
        assert.equal((await post('/Groups', { displayName })).status, 201)
        assert.equal((await post('/Groups/External', { displayName, externalGroup, origin })).status, 201)
      }
      const answer = await signIn(origin, claims)
      assert.equal(answer.headers['location'], 'http://localhost:8080/', answer.text)
      const user = await server.store.users.findByExternalId('svc', origin, externalId)
      assert.equal(user?.email, claims['email'] ?? 'placeholder@acme.example')
      assert.equal(user.verified, claims['email_verified'] === true)
      assert.equal(user.givenName, named('given_name'))
      assert.equal(user.userName, named('user_name'))
      const groups = await server.store.groups.namesOfUser('svc', user.id)
      assert.equal(groups.includes(displayName), externalGroup !== undefined)
      const { id } = made.json<{ id: string }>()
      await server.send(`/identity-providers/${id}`, { method: 'DELETE', bearer }) // another page has the same issuer
    })
  }

  const attributesOf = (claims: JsonRecord): readonly SamlTestAttribute[] =>
    Object.entries(claims)
      .filter(([name]) => name !== 'NameID')
      .map(([name, value]) => ({ name, values: [value].flat().map(String) }))

  /** The settings of a record for the tests' directory instead of the real one; its users are found by `cn`. */
  const atSlapd = ({ userSearchFilter }: JsonRecord): JsonRecord => ({
    baseUrl: slapd.url,
    tlsConfiguration: 'none',
    bindUserDn: ACCOUNT.dn,
    bindPassword: ACCOUNT.password,
    userSearchBase: PEOPLE,
    userSearchFilter: String(userSearchFilter).replace('uid=', 'cn='),
    groupSearchBase: GROUPS,
  })

  /** The settings of a record for our own providers instead of the real one. */
  function ourOwn(type: string): JsonRecord {
    if (type !== 'oauth2.0') {
      const discoveryUrl = `${upstream.url}/.well-known/openid-configuration`
      return { discoveryUrl, relyingPartyId: RELYING_PARTY }
    }
    const { authUrl, tokenUrl, userInfoUrl, relyingPartyId, relyingPartySecret } = githubRecord(github).config
    return { authUrl, tokenUrl, userInfoUrl, relyingPartyId, relyingPartySecret }
  }

  async function signIn(origin: string, claims: JsonRecord): Promise<TestAnswer> {
    const browser = server.browser()
    const address = (await browser.send(`/login/external/${origin}`)).location()
    github.person = claims
    upstream.nonce = address.searchParams.get('nonce') ?? ''
    upstream.answer = () => upstream.usual(claims)
    const isGithub = address.origin === github.url
    const code = isGithub ? github.agree(address).code : 'c'
    const iss = isGithub ? {} : { iss: upstream.url }
    const query = { code, state: address.searchParams.get('state') ?? '', ...iss }
    return browser.send(`/login/callback/${origin}`, { query })
  }
})

describe('docs/operate.md', () => {
  it('has a valid SAML provider for the configuration file', async () => {
    const operate = readFileSync(join(FOLDER, '../operate.md'), 'utf8')
    const yaml = blocksIn(operate, 'yaml').find(block => block.startsWith('saml:')) ?? ''
    const { bootstrap, saml } = await loadText(temporaryFolder(), yaml)
    assert.equal(saml.entityId, 'id.example.org')
    assert.equal(bootstrap.identityProviders[0]?.type, 'saml')
  })

  it('has a row for each reason to reject a SAML message', () => {
    const problem = readFileSync(join(FOLDER, '../../src/identity/saml/problem.ts'), 'utf8')
    const [, list = ''] = /type SamlReason =((?:\s+\| '[a-z-]+')+)/.exec(problem) ?? []
    const ofMessages = Array.from(list.matchAll(/'([a-z-]+)'/g)).map(([, reason]) => reason ?? '')
    const reasons = [...ofMessages, 'client'] // of the grant, which looks at the client before the assertion
    const operate = readFileSync(join(FOLDER, '../operate.md'), 'utf8')
    const [, table = ''] = /^#### When sign-in with SAML fails\n([^]*?)\n###/m.exec(operate) ?? []
    const rows = Array.from(table.matchAll(/^\| (`.*?) \|/gm)).flatMap(
      ([, words]) => (words ?? '').match(/[a-z-]+/g) ?? [],
    )
    assert.ok(reasons.length > 20)
    const byName = (a: string, b: string): number => a.localeCompare(b)
    assert.deepEqual(rows.toSorted(byName), reasons.toSorted(byName))
  })
})

const hasCurl = spawnSync('curl', ['--version']).status === 0

describe('docs/providers/README.md', { skip: !hasCurl && 'curl is not installed' }, () => {
  it('has working commands', async () => {
    const playground = await serve({ args: ['--database', 'sqlite::memory:'] })
    try {
      const folder = temporaryFolder()
      writeFileSync(join(folder, 'provider.json'), blocksIn(textOf('entra-id.md'), 'json')[0] ?? '')
      const commands = blocksIn(INDEX, 'sh').join('\necho\n')
      const script = commands.replaceAll('localhost:8080', `localhost:${playground.port}`)
      const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8', cwd: folder })
      assert.equal(status, 0, stderr)
      assert.doesNotMatch(stdout, /"error"/)
      for (const answer of [/"originKey":"entra"/, /"displayName":"shop.admin"/, /"externalGroup":"shop.admin"/i]) {
        assert.match(stdout, answer)
      }
    } finally {
      await playground.stop('SIGKILL')
    }
  })
})
