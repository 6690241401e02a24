import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Clock } from '../src/base/clock.ts'
import { createPasswords } from '../src/base/passwords.ts'
import type { Passwords } from '../src/base/passwords.ts'
import { createRandom } from '../src/base/random.ts'
import { createVault } from '../src/base/secrets.ts'
import { applyBootstrap } from '../src/bootstrap.ts'
import { userKey } from '../src/bootstrap/users.ts'
import { loadConfig } from '../src/config.ts'
import type { Client } from '../src/model/clients/client.ts'
import { openProviderSecrets } from '../src/providers/provider-secrets.ts'
import type { User } from '../src/model/users/user.ts'
import { openStore } from '../src/store/open.ts'
import type { Store } from '../src/store/store.ts'
import { certificateOf } from './support/certificate.ts'
import { isCurrentSignature, revocationSignature } from '../src/token/revocation-signature.ts'
import { openSamlKey } from '../src/zones/saml-keys.ts'
import { loadText, privatePem, temporaryFolder } from './support/config.ts'
import { openMigrated } from './support/database-images.ts'
import { DATABASE_KINDS, freshDatabase } from './support/databases.ts'

const folder = temporaryFolder()
const random = createRandom()
const vault = createVault(Buffer.alloc(32, 7), random)
const hashing = createPasswords({ concurrency: 2, cost: { memoryKib: 64, passes: 1 } })

const stores: Store[] = []
async function open(url?: string): Promise<Store> {
  if (url === undefined) return (await openCounting()).store
  return openStore(url, { clock: { now: () => new Date(1_000) } })
}

/** A store, and how many rows were written to it so far. */
async function openCounting(): Promise<{ readonly store: Store; readonly rowsWritten: () => unknown }> {
  const memory = await openMigrated()
  const store = await openStore('sqlite::memory:', { clock: { now: () => new Date(1_000) }, memory })
  stores.push(store)
  return { store, rowsWritten: () => memory.prepare('select total_changes() as written').get()?.['written'] }
}
after(() => Promise.all(stores.map(store => store.close())))

/** Counts the operations that make a start slow. */
function countingPasswords(): Passwords & { hashes: number; verifications: number } {
  const counting = {
    ...hashing,
    hashes: 0,
    verifications: 0,
    hash(plain: string) {
      counting.hashes += 1
      return hashing.hash(plain)
    },
    verify(stored: string, plain: string) {
      counting.verifications += 1
      return hashing.verify(stored, plain)
    },
  }
  return counting
}

interface Start {
  readonly now?: number
  readonly clock?: Clock
  readonly passwords?: Passwords
  readonly vaultKey?: number
}

/** One start of the server with a configuration file that holds `file`; undefined is the playground. */
async function start(
  store: Store,
  file: object | undefined,
  { now = 1_000, clock = { now: () => new Date(now) }, passwords = hashing, vaultKey = 7 }: Start = {},
) {
  const config =
    file === undefined ? await loadConfig({ env: {}, cwd: folder }) : await loadText(folder, JSON.stringify(file))
  const lines: string[] = []
  await applyBootstrap({
    store,
    passwords,
    vault: vaultKey === 7 ? vault : createVault(Buffer.alloc(32, vaultKey), random),
    clock,
    random,
    config,
    log: line => lines.push(line),
    warn: line => lines.push(`warning: ${line}`),
  })
  return lines
}

async function clientOf(store: Store, clientId: string, zoneId = 'svc'): Promise<Client> {
  const client = await store.clients.find(zoneId, clientId)
  assert.ok(client !== undefined, `there is no client ${clientId}`)
  return client
}

async function userOf(store: Store, userName: string, origin = 'svc', zoneId = 'svc'): Promise<User> {
  const user = await store.users.findByName(zoneId, origin, userName)
  assert.ok(user !== undefined, `there is no user ${userName}`)
  return user
}

const app = { client_id: 'app', client_secret: 's3cret', authorized_grant_types: ['client_credentials'] }
const tile = { showOnHomePage: true, appLaunchUrl: 'https://app.example/start', appIcon: 'iVBORw0KGgo=' }
const marissa = { userName: 'marissa', password: 'koala', emails: [{ value: 'marissa@example.org' }] }

describe('The second factor policy of a zone', () => {
  it('is stored with the zone, with a warning about unknown groups', async () => {
    const store = await open()
    const secondFactor = { requirement: 'groups', groups: ['Admins', 'staf', 'openid'] }
    const file = { service: 'svc', bootstrap: { groups: [{ displayName: 'admins' }] }, zone_config: { secondFactor } }
    const lines = await start(store, file)
    const text = 'warning: zone svc: secondFactor.groups names groups that do not exist: staf'
    assert.deepEqual((await store.zones.find('svc'))?.config.secondFactor, secondFactor)
    assert.ok(lines.includes(text), lines.join())
    assert.deepEqual(await start(store, file), [text], 'at every start')
    const found = { ...file, bootstrap: { groups: [{ displayName: 'admins' }, { displayName: 'staf' }] } }
    assert.ok(!(await start(store, found)).includes(text))
  })
})

describe('The internal provider of a zone', () => {
  it('has its default policies again without its record in the file, with a warning', async () => {
    const store = await open()
    const config = { disableInternalUserManagement: true }
    const record = { originKey: 'svc', type: 'svc', name: 'svc', config }
    const warningsWith = async (identity_providers: readonly object[]): Promise<readonly string[]> =>
      (await start(store, { service: 'svc', bootstrap: { identity_providers } })).filter(line => line.startsWith('w'))
    const policyOf = async () =>
      (await store.providers.findByOrigin('svc', 'svc'))?.config['disableInternalUserManagement']
    assert.deepEqual(await warningsWith([]), [], 'the first start')
    assert.deepEqual(await warningsWith([record]), [])
    assert.equal(await policyOf(), true)
    assert.deepEqual(await warningsWith([]), [
      'warning: zone svc: the file no longer has the record of the internal provider, whose policies are the default ones again',
    ])
    assert.notEqual(await policyOf(), true)
    assert.deepEqual(await warningsWith([]), [], 'once')
  })
})

describe('The base URL of a database', () => {
  it('causes a warning if it differs from that of the last start', async () => {
    const store = await open()
    const warningsAt = async (base_url: string): Promise<readonly string[]> =>
      (await start(store, { base_url })).filter(line => line.startsWith('warning: '))
    const other = (now: string, before: string): string =>
      `warning: base_url is ${now}, and was ${before} at the last start with this database: each refuses tokens that name the other, so servers that share a database need the same base_url`
    assert.deepEqual(await warningsAt('https://a.example'), [], 'the first')
    assert.deepEqual(await warningsAt('https://a.example/'), [], 'the same')
    assert.deepEqual(await warningsAt('http://localhost:8080'), [], 'on loopback')
    assert.deepEqual(await warningsAt('https://b.example/uaa'), [other('https://b.example/uaa', 'https://a.example')])
    assert.deepEqual(await warningsAt('https://a.example'), [other('https://a.example', 'https://b.example/uaa')])
  })
})

describe('SAML keys of a zone', () => {
  const keys = { one: { sealedKey: 'sealed 1', certificate: 'c1' }, two: { sealedKey: 'sealed 2', certificate: 'c2' } }

  it('are kept when the file defines the zone again', async () => {
    const store = await open()
    await start(store, { service: 'svc' })
    const zone = await store.zones.find('svc')
    assert.ok(zone)
    await store.zones.update({ ...zone, config: { ...zone.config, samlConfig: { activeKeyId: 'two', keys } } })

    const definitions = [
      { samlConfig: undefined, active: 'two' },
      { samlConfig: { requestSigned: false }, active: 'two' },
      { samlConfig: { activeKeyId: 'one' }, active: 'one' },
      { samlConfig: { activeKeyId: 'toString' }, active: 'one' },
    ]
    for (const { samlConfig, active } of definitions) {
      const zone_config = { samlConfig, links: { homeRedirect: `/${active}` } }
      const lines = await start(store, { service: 'svc', zone_config })
      const unknown = 'warning: zone svc: samlConfig.activeKeyId names a key that the zone does not have: toString'
      assert.equal(lines.includes(unknown), samlConfig?.activeKeyId === 'toString')
      const kept = (await store.zones.find('svc'))?.config.samlConfig
      assert.deepEqual(kept?.keys, keys)
      assert.equal(kept.activeKeyId, active)
      assert.equal(kept.requestSigned, samlConfig?.requestSigned)
    }
  })

  it('are those of the file in the default zone, encrypted, until it has others or none', async () => {
    const store = await open()
    const [one, two] = [privatePem('rsa', 2048), privatePem('ec', 'P-256')]
    const pair = (pem: string) => ({ pem, cert: certificateOf(pem) })
    const samlOf = async () => (await store.zones.find('svc'))?.config.samlConfig
    const keyOf = async (id: string): Promise<string> => {
      const key = (await samlOf())?.keys?.[id]
      assert.ok(key)
      return openSamlKey('svc', id, key, vault)
    }

    await start(store, { saml: { keys: { one: pair(one) } } })
    assert.equal((await samlOf())?.activeKeyId, 'one')
    assert.equal(await keyOf('one'), one)
    assert.doesNotMatch(JSON.stringify(await samlOf()), /PRIVATE/)

    const both = { saml: { active: 'two', keys: { one: pair(one), two: pair(two) } } }
    await start(store, both)
    assert.equal((await samlOf())?.activeKeyId, 'two')
    assert.deepEqual([await keyOf('one'), await keyOf('two')], [one, two])
    const sealed = await samlOf()
    await start(store, both)
    assert.deepEqual(await samlOf(), sealed, 'not written again')

    await start(store, { zone_config: { samlConfig: { requestSigned: false } } })
    assert.deepEqual(await samlOf(), { ...sealed, requestSigned: false }, 'kept where the file says nothing of keys')
    await start(store, { saml: { keys: {} } })
    assert.equal((await samlOf())?.keys, undefined)
  })
})

describe('The first start', () => {
  // Covers configuration file: zone_config
  it('creates the default zone with its provider and default groups', async () => {
    const store = await open()
    await start(store, { service: 'uaa', zone_config: { tokenPolicy: { accessTokenValidity: 600 } } })
    const zone = await store.zones.findBySubdomain('')
    assert.equal(zone?.id, 'uaa')
    assert.equal(zone.name, 'uaa')
    assert.equal(zone.active, true)
    assert.deepEqual(zone.config.tokenPolicy, { accessTokenValidity: 600 })
    assert.deepEqual(zone.config.userConfig?.defaultGroups, [
      'openid',
      'scim.me',
      'password.write',
      'uaa.user',
      'approvals.me',
      'oauth.approvals',
      'profile',
      'roles',
      'user_attributes',
      'uaa.offline_token',
    ])
    const provider = await store.providers.findByOrigin('uaa', 'uaa')
    assert.deepEqual([provider?.type, provider?.name, provider?.active], ['uaa', 'uaa', true])
    assert.ok(await store.groups.findByName('uaa', 'uaa.offline_token'))
  })

  // Covers configuration file: bootstrap: default_groups
  it('does not rename configured default groups', async () => {
    const store = await open()
    await start(store, { service: 'uaa', bootstrap: { default_groups: ['openid', 'svc.user'] } })
    const zone = await store.zones.find('uaa')
    assert.deepEqual(zone?.config.userConfig, { defaultGroups: ['openid', 'svc.user'] })
    assert.equal(await store.groups.findByName('uaa', 'uaa.user'), undefined)
  })

  it('creates the playground accounts', async () => {
    const store = await open()
    await start(store, undefined)
    const client = await clientOf(store, 'app')
    assert.deepEqual(client.authorizedGrantTypes, [
      'authorization_code',
      'refresh_token',
      'password',
      'client_credentials',
    ])
    assert.deepEqual(client.scope, ['openid', 'profile', 'email', 'cloud.read'])
    assert.deepEqual(client.redirectUris, ['http://localhost/callback', 'http://127.0.0.1/callback'])
    for (const uri of ['http://localhost/', 'http://127.0.0.1/', 'http://localhost:3000/']) {
      assert.ok(client.postLogoutRedirectUris?.includes(uri), uri)
    }
    assert.equal(await hashing.verify(client.secrets[0]?.hash ?? '', 'appclientsecret'), true)
    assert.deepEqual(client.authorities, ['svc.resource'])
    const admin = await clientOf(store, 'admin')
    assert.deepEqual(admin.authorities.slice(0, 3), ['svc.admin', 'clients.admin', 'clients.read'])
    const user = await userOf(store, 'marissa')
    assert.equal(await hashing.verify(user.passwordHash ?? '', 'koala'), true)
    assert.deepEqual(await store.groups.namesOfUser('svc', user.id), ['cloud.read'])
  })

  // Covers configuration file: bootstrap: clients
  // Covers configuration file: bootstrap.clients[]: client_id; client_secret; authorized_grant_types; redirect_uri
  // Covers configuration file: bootstrap.clients[]: scope; authorities; autoapprove; allowpublic; access_token_validity
  // Covers configuration file: bootstrap.clients[]: refresh_token_validity; name; allowedproviders
  // Covers configuration file: bootstrap.clients[]: required_user_groups; token_salt; jwks; secondary_client_secret
  it('creates clients like the client API', async () => {
    const store = await open()
    const client = {
      client_id: 'shop',
      client_secret: 'one',
      secondary_client_secret: 'two',
      authorized_grant_types: 'authorization_code,password',
      redirect_uri: 'https://shop.example/cb https://shop.example/other',
      scope: 'openid,cloud.read profile',
      autoapprove: ['openid', 'elsewhere'],
      access_token_validity: 60,
      refresh_token_validity: 600,
      allowpublic: 'true',
      name: 'Shop',
      allowedproviders: ['svc'],
      required_user_groups: ['cloud.read'],
      token_salt: 'salt',
      jwks: { kty: 'RSA', n: 'AA', e: 'AQAB', kid: 'k' },
      post_logout_redirect_uris: ['https://shop.example/'],
      resource_ids: ['ignored'],
      lastModified: 5,
    }
    await start(store, { bootstrap: { clients: [client, app] } }, { now: 5_000 })
    const { secrets, incarnation, ...rest } = await clientOf(store, 'shop')
    assert.match(incarnation ?? '', /^[\w-]{22}$/)
    assert.deepEqual(rest, {
      zoneId: 'svc',
      clientId: 'shop',
      authorizedGrantTypes: ['authorization_code', 'password', 'refresh_token'],
      redirectUris: ['https://shop.example/cb', 'https://shop.example/other'],
      scope: ['openid', 'cloud.read', 'profile'],
      authorities: ['svc.none'],
      autoapprove: ['openid'],
      accessTokenSeconds: 60,
      refreshTokenSeconds: 600,
      allowPublic: true,
      name: 'Shop',
      allowedProviders: ['svc'],
      requiredUserGroups: ['cloud.read'],
      tokenSalt: 'salt',
      jwks: '{"keys":[{"kty":"RSA","n":"AA","e":"AQAB","kid":"k"}]}',
      postLogoutRedirectUris: ['https://shop.example/'],
      additional: {},
      createdAt: new Date(5_000),
      updatedAt: new Date(5_000),
    })
    assert.equal(secrets.length, 2)
    assert.equal(await hashing.verify(secrets[1]?.hash ?? '', 'two'), true)
    assert.notEqual(secrets[0]?.revision, secrets[1]?.revision)
    const plain = await clientOf(store, 'app')
    assert.deepEqual([plain.scope, plain.autoapprove, plain.additional], [['svc.none'], [], {}])
    assert.equal(Object.hasOwn(plain, 'allowPublic'), false)
  })

  // Covers configuration file: bootstrap.clients[]: show-on-home metadata
  it('sets the display of clients on the home page only if configured', async () => {
    const store = await open()
    const metadata = (clientId: string) => store.clients.findMetadata('svc', clientId)
    const other = { ...app, client_id: 'other' }
    await start(store, { bootstrap: { clients: [{ ...app, ...tile }, other] } })
    assert.deepEqual(await metadata('app'), { clientId: 'app', ...tile })
    assert.deepEqual((await clientOf(store, 'app')).additional, {})
    assert.deepEqual(await metadata('other'), { clientId: 'other', showOnHomePage: true })
    const description = { showOnHomePage: false, appIcon: '' }
    const { revision = -1 } = (await store.clients.findForChange('svc', 'other')) ?? {}
    await store.clients.apply('svc', [{ kind: 'describe', clientId: 'other', description, revision }])
    const changed = { ...app, name: 'Renamed', showOnHomePage: false }
    await start(store, { bootstrap: { clients: [changed, { ...other, name: 'Other' }] } })
    assert.equal((await metadata('app'))?.showOnHomePage, false)
    assert.equal((await metadata('app'))?.appLaunchUrl, undefined)
    assert.equal((await metadata('other'))?.showOnHomePage, false)
  })

  it('hides new clients on the home page by default (`uaa`, C13)', async () => {
    const store = await open()
    const file = (more: object) => ({
      compatibility: 'uaa',
      service: 'svc',
      bootstrap: { clients: [{ ...app, ...more }] },
    })
    const metadata = () => store.clients.findMetadata('svc', 'app')
    await start(store, file({}))
    assert.deepEqual(await metadata(), { clientId: 'app', showOnHomePage: false, appIcon: '' })
    const { revision = -1 } = (await store.clients.findForChange('svc', 'app')) ?? {}
    const description = { showOnHomePage: true, appIcon: '' }
    await store.clients.apply('svc', [{ kind: 'describe', clientId: 'app', description, revision }])
    await start(store, file({ name: 'Renamed' }))
    assert.equal((await metadata())?.showOnHomePage, true, 'set through the API')
  })

  // Covers configuration file: bootstrap: groups; users
  // Covers configuration file: bootstrap.groups[]: displayName; description
  // Covers configuration file: bootstrap.users[]: userName; password; emails; name.givenName; name.familyName
  // Covers configuration file: bootstrap.users[]: phoneNumbers; groups; origin; active; externalId; salt
  it('creates users with their groups, and missing groups', async () => {
    const store = await open()
    const bootstrap = {
      groups: [{ displayName: 'cloud.read', description: 'Read the cloud' }],
      users: [
        {
          ...marissa,
          name: { givenName: 'Marissa', familyName: 'Bloggs' },
          phoneNumbers: [{ value: ' ' }, { value: '+1 555 0100' }],
          externalId: '',
          groups: ['Cloud.Read', 'cloud.write', 'openid'],
        },
        {
          userName: 'Jo',
          origin: 'ldap',
          emails: [{ value: 'jo@example.org' }],
          password: 'unused',
          active: false,
          externalId: 'uid=jo',
          salt: 'of-old',
        },
      ],
    }
    await start(store, { bootstrap })
    const user = await userOf(store, 'MARISSA')
    const { givenName, familyName, phoneNumber, email, active, verified, passwordChangeRequired, version } = user
    assert.deepEqual(
      { givenName, familyName, phoneNumber, email, active, verified, passwordChangeRequired, version },
      {
        givenName: 'Marissa',
        familyName: 'Bloggs',
        phoneNumber: '+1 555 0100',
        email: 'marissa@example.org',
        active: true,
        verified: true,
        passwordChangeRequired: false,
        version: 0,
      },
    )
    assert.match(user.passwordRevision, /^[\w-]{22}$/)
    assert.equal(user.externalId, undefined)
    assert.deepEqual([...(await store.groups.namesOfUser('svc', user.id))].toSorted(), ['cloud.read', 'cloud.write'])
    assert.equal((await store.groups.findByName('svc', 'cloud.read'))?.description, 'Read the cloud')
    const shadow = await userOf(store, 'jo', 'ldap')
    assert.deepEqual([shadow.passwordHash, shadow.active], [undefined, false])
    assert.deepEqual([shadow.externalId, shadow.salt], ['uid=jo', 'of-old'])
  })

  it('replaces the profile by that of the file', async () => {
    const store = await open()
    const profile = {
      name: { middleName: 'B' },
      nickName: 'Missy',
      addresses: [{ locality: 'Bern', primary: true }],
    }
    const custom = { team: ['a'] }
    await start(store, { bootstrap: { users: [{ ...marissa, ...profile, customAttributes: custom }] } })
    assert.deepEqual((await userOf(store, 'marissa')).profile, { ...profile, custom })
    await start(store, { bootstrap: { users: [{ ...marissa, nickName: 'M' }] } })
    assert.deepEqual((await userOf(store, 'marissa')).profile, { nickName: 'M' })
    await start(store, { bootstrap: { users: [marissa] } })
    assert.equal((await userOf(store, 'marissa')).profile, undefined)
  })

  it('keeps the link of an external account, unless the file has another external id', async () => {
    const store = await open()
    const shadow = (more: object) => ({
      bootstrap: { users: [{ userName: 'jo', origin: 'corp', emails: [{ value: 'jo@example.org' }], ...more }] },
    })
    await start(store, shadow({}))
    const made = await userOf(store, 'jo', 'corp')
    await store.users.bind('svc', { ...made, externalId: 'sub-1', userName: 'jo' })
    const bound = await userOf(store, 'jo', 'corp')
    await start(store, shadow({ name: { givenName: 'Jo' } }))
    const kept = await userOf(store, 'jo', 'corp')
    assert.deepEqual([kept.externalId, kept.givenName], ['sub-1', 'Jo'])
    assert.equal(kept.passwordRevision, bound.passwordRevision)
    await start(store, shadow({ externalId: 'sub-2' }))
    const other = await userOf(store, 'jo', 'corp')
    assert.deepEqual([other.id, other.externalId], [made.id, 'sub-2'])
    assert.notEqual(other.passwordRevision, kept.passwordRevision)
    await store.users.updateProfile('svc', { ...other, userName: 'renamed upstream' })
    await start(store, shadow({ externalId: 'sub-2', name: { givenName: 'J' } }))
    assert.equal((await userOf(store, 'jo', 'corp')).id, made.id)
  })

  // Covers configuration file: bootstrap: identity_providers
  // Covers configuration file: bootstrap.identity_providers[]: originKey; type; name
  it('encrypts provider secrets', async () => {
    const store = await open()
    const config = {
      relyingPartyId: 'me',
      relyingPartySecret: 'hush',
      jwtClientAuthentication: { kid: 'k', key: 'private' },
    }
    await start(store, {
      bootstrap: {
        identity_providers: [
          { originKey: 'corp', type: 'oidc1.0', name: 'Corp', config: JSON.stringify(config) },
          { originKey: 'svc', type: 'svc', name: 'Internal', config: { disableInternalUserManagement: true } },
        ],
      },
    })
    const provider = await store.providers.findByOrigin('svc', 'corp')
    assert.ok(provider)
    assert.doesNotMatch(JSON.stringify(provider), /hush|private/)
    assert.deepEqual(openProviderSecrets(provider, vault).config, config)
    const internal = await store.providers.findByOrigin('svc', 'svc')
    assert.deepEqual([internal?.name, internal?.config], ['Internal', { disableInternalUserManagement: true }])
  })

  it('sets a provider’s issuer or entity id as its external key, unless already in use', async () => {
    const store = await open()
    const issuer = 'https://shared.example'
    const xmlns = 'urn:oasis:names:tc:SAML:2.0:metadata'
    const metaDataLocation = `<EntityDescriptor xmlns="${xmlns}" entityID="urn:federation"/>`
    const first = { originKey: 'first', type: 'oidc1.0', name: 'First', config: { issuer } }
    const federation = { originKey: 'federation', type: 'saml', name: 'Federation', config: { metaDataLocation } }
    const keyOf = async (origin: string) => (await store.providers.findByOrigin('svc', origin))?.externalKey
    await start(store, { bootstrap: { identity_providers: [first, federation] } })
    assert.deepEqual([await keyOf('first'), await keyOf('federation')], [issuer, 'urn:federation'])

    const second = { ...first, originKey: 'second' }
    await start(store, { bootstrap: { identity_providers: [second, federation] } })
    assert.ok(await store.providers.findByOrigin('svc', 'second'))
    assert.deepEqual([await keyOf('first'), await keyOf('second')], [issuer, undefined])
    await start(store, { bootstrap: { identity_providers: [{ ...second, name: 'Changed' }, federation] } })
    const changed = await store.providers.findByOrigin('svc', 'second')
    assert.deepEqual([changed?.name, changed?.version, changed?.externalKey], ['Changed', 1, undefined])
  })

  // Covers configuration file: signing_keys.keys.<id>.alg
  it('encrypts signing keys, separately from the settings', async () => {
    const store = await open()
    const pem = privatePem('ec', 'P-256')
    const keys = { one: { alg: 'EdDSA', pem: privatePem('ed25519') }, two: { alg: 'ES256', pem } }
    await start(store, { signing_keys: { active: 'two', keys } })
    const stored = await store.keys.list('svc')
    const states = stored.map(({ keyId, algorithm, active }) => `${keyId} ${algorithm} ${active}`)
    assert.deepEqual(states.toSorted(), ['one EdDSA false', 'two ES256 true'])
    const two = stored.find(({ keyId }) => keyId === 'two')
    assert.match(two?.publicKey ?? '', /^-----BEGIN PUBLIC KEY-----/)
    assert.equal(vault.open(two?.sealedPrivateKey ?? '', 'signing-key svc two'), pem)
  })

  // Covers configuration file: bootstrap: identity_zones
  // Covers configuration file: bootstrap.identity_zones[]: id; subdomain; name; description; active; config; bootstrap
  it('creates other zones with their records', async () => {
    const store = await open()
    const pem = privatePem('ec', 'P-256')
    await start(store, {
      bootstrap: {
        clients: [app],
        identity_zones: [
          {
            id: 'z1',
            subdomain: 'Z1',
            name: 'Zone 1',
            description: 'The first',
            config: { tokenPolicy: { accessTokenValidity: 5, keys: { k: { signingKey: pem } } } },
            bootstrap: { clients: [{ ...app, client_secret: 'other' }], users: [{ ...marissa, groups: ['g'] }] },
          },
          { id: 'z2', subdomain: 'z2', name: 'Zone 2', active: false },
        ],
      },
    })
    const zone = await store.zones.findBySubdomain('z1')
    assert.deepEqual([zone?.id, zone?.name, zone?.description], ['z1', 'Zone 1', 'The first'])
    assert.deepEqual(zone?.config, { tokenPolicy: { accessTokenValidity: 5 } })
    assert.equal((await store.zones.find('z2'))?.active, false)
    assert.ok(await store.providers.findByOrigin('z1', 'svc'))
    assert.ok(await store.groups.findByName('z1', 'svc.user'))
    assert.equal(await store.groups.findByName('z1', 'scim.me'), undefined) // only the default zone has that one
    const [ours, theirs] = [await clientOf(store, 'app'), await clientOf(store, 'app', 'z1')]
    assert.equal(await hashing.verify(ours.secrets[0]?.hash ?? '', 's3cret'), true)
    assert.equal(await hashing.verify(theirs.secrets[0]?.hash ?? '', 'other'), true)
    const user = await userOf(store, 'marissa', 'svc', 'z1')
    assert.deepEqual(await store.groups.namesOfUser('z1', user.id), ['g'])
    assert.deepEqual(
      (await store.keys.list('z1')).map(({ keyId, active }) => [keyId, active]),
      [['k', true]],
    )
    assert.deepEqual(await store.keys.list('svc'), [])
  })
})

describe('A start with many records', () => {
  const groups = Array.from({ length: 200 }, (_, index) => ({ displayName: `g${index}` }))

  it('logs its progress every ten seconds', async () => {
    let seconds = 0
    const clock = { now: () => new Date((seconds += 0.05) * 1000) }
    const lines = await start(await open(), { bootstrap: { groups } }, { clock })
    const total = lines.pop() ?? ''
    assert.match(total, /^bootstrap: 2\d\d records written$/)
    assert.ok(lines.length >= 2, `no progress in ${seconds} s`)
    for (const line of lines) assert.match(line, /^bootstrap: \d+ records written so far$/)
    assert.ok(lines.length <= seconds / 10, `${lines.length} lines in ${seconds} s`)
  })

  it('logs nothing about progress within the first ten seconds', async () => {
    const lines = await start(await open(), { bootstrap: { groups } })
    assert.deepEqual(
      lines.map(line => line.replace(/\d+/, 'n')),
      ['bootstrap: n records written'],
    )
  })
})

describe('A second start', () => {
  const file = (client: object = {}, user: object = {}): object => ({
    bootstrap: { clients: [{ ...app, ...client }], users: [{ ...marissa, ...user }] },
  })

  it('hashes, verifies and writes nothing without changes', async () => {
    const { store, rowsWritten } = await openCounting()
    const first = await start(store, file())
    assert.match(first.join('\n'), /records written/)
    const before = [rowsWritten(), await clientOf(store, 'app'), await userOf(store, 'marissa')]
    const passwords = countingPasswords()
    assert.deepEqual(await start(store, file(), { now: 9_000, passwords }), [])
    assert.deepEqual([passwords.hashes, passwords.verifications], [0, 0])
    assert.deepEqual([rowsWritten(), await clientOf(store, 'app'), await userOf(store, 'marissa')], before)
  })

  it('reads no record in full without changes', async () => {
    const store = await open()
    const clients = Array.from({ length: 50 }, (_, index) => ({ ...app, client_id: `app-${index}` }))
    const users = Array.from({ length: 50 }, (_, index) => ({ ...marissa, userName: `user-${index}` }))
    const file = { bootstrap: { clients, users } }
    await start(store, file)
    let reads = 0
    const counting: Store = {
      ...store,
      bootstrap: {
        ...store.bootstrap,
        applied(...of) {
          reads += 1
          return store.bootstrap.applied(...of)
        },
      },
    }
    await start(counting, file)
    assert.ok(reads < 10, `${reads} reads`)
  })

  it('ignores the order of members', async () => {
    const store = await open()
    await start(store, file())
    const { client_id, ...rest } = app
    assert.deepEqual(await start(store, { bootstrap: { clients: [{ ...rest, client_id }], users: [marissa] } }), [])
  })

  it('keeps changes by an API', async () => {
    const store = await open()
    await start(store, file())
    const changed = { ...(await clientOf(store, 'app')), name: 'Renamed', scope: ['openid'] }
    await store.clients.update('svc', changed)
    await start(store, file())
    assert.equal((await clientOf(store, 'app')).name, 'Renamed')
  })

  it('updates a record whose definition changed, keeping its secret and creation time', async () => {
    const store = await open()
    await start(store, file())
    const first = await clientOf(store, 'app')
    await store.clients.update('svc', { ...first, name: 'Renamed', authorities: ['svc.admin'] })
    await start(store, file({ scope: ['openid'] }), { now: 9_000 })
    const second = await clientOf(store, 'app')
    assert.deepEqual([second.name, second.authorities, second.scope], [undefined, ['svc.none'], ['openid']])
    assert.deepEqual(second.secrets, first.secrets) // a new revision would make issued tokens invalid
    assert.deepEqual([second.createdAt, second.updatedAt], [new Date(1_000), new Date(9_000)])
  })

  it('replaces a changed secret', async () => {
    const store = await open()
    await start(store, file())
    const before = await clientOf(store, 'app')
    await start(store, file({ client_secret: 'new' }))
    const { secrets } = await clientOf(store, 'app')
    assert.equal(secrets.length, 1)
    assert.equal(await hashing.verify(secrets[0]?.hash ?? '', 'new'), true)
    assert.notEqual(secrets[0]?.revision, before.secrets[0]?.revision)
  })

  it('removes a secret that was removed from the file', async () => {
    const store = await open()
    const grants = { authorized_grant_types: ['password'] }
    await start(store, file(grants))
    await start(store, { bootstrap: { clients: [{ client_id: 'app', ...grants }], users: [marissa] } })
    assert.deepEqual((await clientOf(store, 'app')).secrets, [])
  })

  it('removes a secret that was removed from the file, keeping the other one with its revision', async () => {
    const store = await open()
    const secretsBehind = async (secrets: object) => {
      await start(store, { bootstrap: { clients: [{ ...app, ...secrets }] } })
      return (await clientOf(store, 'app')).secrets
    }
    // A new revision would make issued tokens invalid.
    const [old] = await secretsBehind({ client_secret: 'old' })
    const both = await secretsBehind({ client_secret: 'old', secondary_client_secret: 'new' })
    assert.deepEqual([both.length, both[0]], [2, old])
    const after = await secretsBehind({ client_secret: 'new' })
    assert.deepEqual(after, both.slice(1))
    assert.equal(await hashing.verify(after[0]?.hash ?? '', 'new'), true)
  })

  it('removes a secret that was removed from the file, keeping one that the API set', async () => {
    const store = await open()
    const grants = { authorized_grant_types: ['password'] }
    await start(store, file(grants))
    const client = await clientOf(store, 'app')
    const secret = { hash: await hashing.hash('from the API'), revision: 'r' }
    await store.clients.update('svc', { ...client, secrets: [...client.secrets, secret] })
    await start(store, { bootstrap: { clients: [{ client_id: 'app', ...grants }], users: [marissa] } })
    assert.deepEqual((await clientOf(store, 'app')).secrets, [secret])
  })

  it('keeps a secret that the file never had', async () => {
    const store = await open()
    const bare = { client_id: 'bare', authorized_grant_types: ['password'] }
    await start(store, { bootstrap: { clients: [bare] } })
    const secret = { hash: await hashing.hash('from the API'), revision: 'r' }
    await store.clients.update('svc', { ...(await clientOf(store, 'bare')), secrets: [secret] })
    await start(store, { bootstrap: { clients: [{ ...bare, name: 'Named' }] } })
    const client = await clientOf(store, 'bare')
    assert.deepEqual([client.name, client.secrets], ['Named', [secret]])
  })

  it('keeps the password when another member changes', async () => {
    const store = await open()
    await start(store, file())
    const before = await userOf(store, 'marissa')
    await store.users.recordLogon('svc', before.id, new Date(2_000))
    await start(store, file({}, { name: { givenName: 'Marissa' } }), { now: 9_000 })
    const after = await userOf(store, 'marissa')
    assert.equal(after.givenName, 'Marissa')
    assert.equal(after.id, before.id)
    assert.equal(after.version, before.version + 1)
    assert.deepEqual(
      [after.passwordHash, after.passwordRevision, after.lastLogonAt],
      [before.passwordHash, before.passwordRevision, new Date(2_000)],
    )
  })

  for (const [name, salts] of [
    ['', { client: {}, user: {} }],
    [', also where the file has the salts of before', { client: { token_salt: 'a' }, user: { salt: 'b' } }],
  ] as const) {
    it(`does not make revoked tokens valid again${name}`, async () => {
      const store = await open()
      await start(store, file(salts.client, salts.user))
      const [client, user] = [await clientOf(store, 'app'), await userOf(store, 'marissa')]
      const [ofClient, ofUser] = [revocationSignature(client, undefined), revocationSignature(client, user)]
      await store.clients.setTokenSalt('svc', 'app', 'c')
      await store.users.setSalt('svc', user.id, 'd')
      const withNames = file({ ...salts.client, name: 'App' }, { ...salts.user, name: { givenName: 'Marissa' } })
      await start(store, withNames)
      const [clientAfter, userAfter] = [await clientOf(store, 'app'), await userOf(store, 'marissa')]
      assert.deepEqual([clientAfter.name, userAfter.givenName], ['App', 'Marissa'])
      assert.equal(isCurrentSignature(ofClient, clientAfter, undefined), false)
      // With the client of before: each of the two is to be enough.
      assert.equal(isCurrentSignature(ofUser, client, userAfter), false)
    })
  }

  it('ends the access of a user whom the file deactivates', async () => {
    const store = await open()
    await start(store, file())
    const { passwordRevision } = await userOf(store, 'marissa')
    await start(store, file({}, { active: false }))
    const inactive = await userOf(store, 'marissa')
    assert.equal(inactive.active, false)
    assert.notEqual(inactive.passwordRevision, passwordRevision)
    await start(store, file({}, { active: true }))
    const again = await userOf(store, 'marissa')
    assert.deepEqual([again.active, again.passwordRevision], [true, inactive.passwordRevision])
  })

  it('keeps the copy of a provider in another zone, and the external id of a group', async () => {
    const store = await open()
    const records = (description: string): object => ({
      bootstrap: {
        groups: [{ displayName: 'staff', description }],
        identity_providers: [
          { originKey: 'corp', type: 'oidc1.0', name: description, config: { issuer: 'https://corp.example' } },
        ],
      },
    })
    await start(store, records('Before'))
    const [provider, group] = [
      await store.providers.findByOrigin('svc', 'corp'),
      await store.groups.findByName('svc', 'staff'),
    ]
    assert.ok(provider && group)
    await store.providers.update('svc', { ...provider, aliasId: 'copy', aliasZoneId: 'z1' })
    await store.groups.update('svc', { ...group, externalId: 'upstream' })
    await start(store, records('After'))
    const changed = await store.providers.findByOrigin('svc', 'corp')
    assert.deepEqual([changed?.name, changed?.aliasId, changed?.aliasZoneId], ['After', 'copy', 'z1'])
    const renamed = await store.groups.findByName('svc', 'staff')
    assert.deepEqual([renamed?.description, renamed?.externalId], ['After', 'upstream'])
  })

  it('replaces a changed password', async () => {
    const store = await open()
    await start(store, file())
    const before = await userOf(store, 'marissa')
    await start(store, file({}, { password: 'wombat' }), { now: 9_000 })
    const after = await userOf(store, 'marissa')
    assert.equal(await hashing.verify(after.passwordHash ?? '', 'wombat'), true)
    assert.notEqual(after.passwordRevision, before.passwordRevision)
    assert.deepEqual(after.passwordChangedAt, new Date(9_000))
  })

  it('replaces the settings of a zone with a changed definition', async () => {
    const store = await open()
    const zone = { id: 'z1', subdomain: 'z1', name: 'Zone 1' }
    await start(store, { bootstrap: { identity_zones: [{ ...zone, config: { idpDiscoveryEnabled: true } }] } })
    await start(store, { bootstrap: { identity_zones: [{ ...zone, name: 'Renamed' }] } })
    const stored = await store.zones.find('z1')
    assert.deepEqual([stored?.name, stored?.config, stored?.version], ['Renamed', {}, 1])
  })

  // Covers configuration file: signing_keys.active
  it('changes the active signing key', async () => {
    const store = await open()
    const keys = { a: { alg: 'EdDSA', pem: privatePem('ed25519') }, b: { alg: 'EdDSA', pem: privatePem('ed25519') } }
    await start(store, { signing_keys: { active: 'a', keys } })
    await start(store, { signing_keys: { active: 'b', keys } }, { now: 9_000 })
    const stored = await store.keys.list('svc')
    const states = stored.map(({ keyId, active, createdAt }) => `${keyId} ${active} ${createdAt.getTime()}`)
    assert.deepEqual(states.toSorted(), ['a false 1000', 'b true 1000'])
  })

  it('encrypts a signing key once', async () => {
    const store = await open()
    const signing_keys = { active: 'a', keys: { a: { alg: 'EdDSA', pem: privatePem('ed25519') } } }
    await start(store, { signing_keys })
    const [before] = await store.keys.list('svc')
    await start(store, { signing_keys })
    assert.deepEqual(await store.keys.list('svc'), [before])
  })

  // Covers configuration file: bootstrap: external_groups
  // Covers configuration file: bootstrap.external_groups[]: displayName; externalGroup; origin
  it('maps a provider group once, in lower case', async () => {
    const store = await open()
    const external_groups = [{ displayName: 'cloud.read', externalGroup: ' CN=Readers,DC=Example ' }]
    await start(store, { bootstrap: { external_groups } })
    assert.ok(await store.groups.findByName('svc', 'cloud.read'))
    assert.deepEqual(await start(store, { bootstrap: { external_groups } }), [])
  })
})

describe('Concurrent starts', () => {
  for (const kind of DATABASE_KINDS) {
    it(`of two processes on one ${kind} database write the same records`, async t => {
      const file = {
        bootstrap: {
          groups: [{ displayName: 'cloud.read' }],
          clients: [
            { ...app, ...tile },
            { ...app, client_id: 'other' },
          ],
          users: [{ ...marissa, groups: ['cloud.read', 'cloud.write'] }],
          identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Z', bootstrap: { clients: [app] } }],
        },
      }
      const database = await freshDatabase(kind)
      t.after(() => database.drop())
      const [left, right] = [await open(database.url), await open(database.url)]
      await Promise.all([start(left, file), start(right, file)])
      assert.deepEqual(await right.clients.findMetadata('svc', 'app'), { clientId: 'app', ...tile })
      const user = await userOf(left, 'marissa')
      assert.equal(await hashing.verify(user.passwordHash ?? '', 'koala'), true)
      assert.deepEqual([...(await right.groups.namesOfUser('svc', user.id))].toSorted(), ['cloud.read', 'cloud.write'])
      const again = countingPasswords()
      assert.deepEqual(await start(right, file, { passwords: again }), [])
      assert.equal(again.hashes, 0)
      await Promise.all([left.close(), right.close()])
    })
  }
})

describe('A database of another server', () => {
  it('is rejected with another master key', async () => {
    const store = await open()
    await start(store, {})
    await assert.rejects(start(store, {}, { vaultKey: 8 }), {
      name: 'BootstrapError',
      message: /the master key is not the one/,
    })
  })

  it('is rejected with another service name', async () => {
    const store = await open()
    await start(store, {})
    await assert.rejects(start(store, { service: 'uaa' }), {
      name: 'BootstrapError',
      message: /made for the service name svc/,
    })
  })
})

describe('The second start of a playground', () => {
  it('restores deleted accounts and changes no other', async () => {
    const { store, rowsWritten } = await openCounting()
    await start(store, undefined)
    const { id } = await userOf(store, 'marissa')
    const admin = { ...(await clientOf(store, 'admin')), secrets: [{ hash: await hashing.hash('own'), revision: 'r' }] }
    await store.clients.update('svc', admin)
    assert.ok(await store.users.delete('svc', id))
    const { revision = 0 } = (await store.clients.findForChange('svc', 'app')) ?? {}
    await store.clients.apply('svc', [{ kind: 'delete', clientId: 'app', revision }])
    await start(store, undefined)
    assert.notEqual((await userOf(store, 'marissa')).id, id)
    assert.ok(await hashing.verify((await clientOf(store, 'app')).secrets[0]?.hash ?? '', 'appclientsecret'))
    assert.deepEqual((await clientOf(store, 'admin')).secrets, admin.secrets)
    const before = rowsWritten()
    assert.deepEqual([await start(store, undefined), rowsWritten()], [[], before], 'while nothing is missing')
  })
})

describe('A start with a configuration on a playground database', () => {
  const isKnown = async (store: Store): Promise<readonly boolean[]> => {
    const user = await userOf(store, 'marissa')
    const clients = [await clientOf(store, 'app'), await clientOf(store, 'admin')]
    const works = async (hash: string | undefined, plain: string): Promise<boolean> =>
      hash !== undefined && (await hashing.verify(hash, plain))
    return [
      user.active && (await works(user.passwordHash, 'koala')),
      await works(clients[0]?.secrets[0]?.hash, 'appclientsecret'),
      await works(clients[1]?.secrets[0]?.hash, 'adminsecret'),
    ]
  }

  it('removes the public secrets once, and the playground restores them', async () => {
    const store = await open()
    await start(store, undefined)
    assert.deepEqual(await isKnown(store), [true, true, true])
    assert.match((await start(store, {})).join('\n'), /public secrets .* removed/)
    assert.deepEqual(await isKnown(store), [false, false, false])
    assert.deepEqual(await start(store, {}), [])
    await start(store, undefined)
    assert.deepEqual(await isKnown(store), [true, true, true])
  })

  it('keeps accounts that the file defines, and changed secrets', async () => {
    const store = await open()
    await start(store, undefined)
    const secret = { hash: await hashing.hash('own'), revision: 'r' }
    await store.clients.update('svc', { ...(await clientOf(store, 'admin')), secrets: [secret] })
    await start(store, { bootstrap: { clients: [app], users: [marissa] } })
    assert.deepEqual((await clientOf(store, 'admin')).secrets, [secret])
    assert.equal(await hashing.verify((await clientOf(store, 'app')).secrets[0]?.hash ?? '', 's3cret'), true)
    assert.equal((await userOf(store, 'marissa')).active, true)
  })
})

describe('userKey', () => {
  it('differs by origin, but not by case', () => {
    assert.notEqual(userKey({ ...marissa, origin: 'ldap' }, 'svc'), userKey(marissa, 'svc'))
    assert.equal(userKey({ ...marissa, userName: 'MARISSA' }, 'svc'), userKey({ ...marissa, origin: 'svc' }, 'svc'))
  })
})
