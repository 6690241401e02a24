import assert from 'node:assert/strict'
import { X509Certificate, createPublicKey } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { FairQueue } from '../../../src/base/concurrency/fair-queue.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { createDeferredServiceProviders } from '../../../src/identity/saml/deferred.ts'
import type { ServiceProvider, ServiceProviders, SpKey } from '../../../src/identity/saml/service-provider.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { createUrls } from '../../../src/model/urls.ts'
import type { SamlConfig, Zone } from '../../../src/model/zones/zone.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { readSamlKeys } from '../../../src/zones/saml-keys.ts'
import { certificateOf } from '../../support/certificate.ts'
import { createTestClock } from '../../support/clock.ts'
import { privatePem } from '../../support/config.ts'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import type { TestDatabase } from '../../support/databases.ts'
import { KEYS, textOf } from '../../support/keys.ts'
import { zone } from '../../store/records.ts'

const random = createRandom()
const vault = createVault(Buffer.alloc(32, 7), random)
const urls = createUrls('https://login.example/base', behaviourOf('uaa'))
const rsa = textOf(KEYS.RS256)
const ec = textOf(KEYS.ES256)

/** Settings with these key pairs, sealed as the zone API does. */
async function withKeys(
  zoneId: string,
  pems: Readonly<Record<string, string>>,
  { activeKeyId, ...others }: SamlConfig & { activeKeyId: string },
): Promise<SamlConfig> {
  const pairs = Object.entries(pems).map(([id, key]) => [id, { key, certificate: certificateOf(key) }] as const)
  const deps = { zoneId, vault, openings: {} as FairQueue, requester: { zoneId, address: undefined } } // no key is encrypted
  return { activeKeyId, ...others, keys: await readSamlKeys({ keys: Object.fromEntries(pairs), activeKeyId }, deps) }
}

const publicPem = ({ privateKey }: SpKey): string =>
  createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
const publicOf = (pem: string): string => createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString()

for (const kind of DATABASE_KINDS) {
  describe(`SAML service provider on ${kind}`, () => {
    let database: TestDatabase
    let store: Store
    let other: Store
    const clock = createTestClock()
    const defaultZone = zone({ id: 'default', subdomain: '' })
    let made = 0

    before(async () => {
      database = await freshDatabase(kind)
      store = await openStore(database.url, { clock })
      other = await openStore(database.url, { clock })
      await store.zones.insert(defaultZone)
    })
    after(async () => {
      await store.close()
      await other.close()
      await database.drop()
    })

    function providers(of: Store = store): ServiceProviders {
      return createDeferredServiceProviders({
        store: of,
        vault,
        clock,
        random,
        urls,
        defaultZoneId: 'default',
        samlEntityId: 'https://login.example/saml',
        generateKey: () => {
          made += 1
          return Promise.resolve({ privateKey: privatePem('rsa', 2048) })
        },
      })
    }
    const of = async (id: string, from = providers(), at: Store = store): Promise<ServiceProvider> => {
      const found = await at.zones.find(id)
      assert.ok(found)
      return from.of({ ...found, address: 'host' })
    }
    const save = async (changed: Zone): Promise<void> => store.zones.update(changed)

    it('generates one key, even if several processes start concurrently', async () => {
      const all = await Promise.all(
        [providers(), providers(other), providers(), providers(other)].flatMap(each => [
          of('default', each),
          of('default', each),
        ]),
      )
      assert.ok(made >= 1 && made <= 4, 'one for each process at most')
      const generated = made
      const [first] = all
      assert.ok(first)
      for (const each of [...all, await of('default')]) {
        assert.deepEqual(each.active.certificates, first.active.certificates)
        assert.equal(publicPem(each.active), publicPem(first.active))
      }
      assert.equal(made, generated, 'not generated again')
      assert.deepEqual(first.others, [])
    })

    it('generates a certificate for the entity id, valid for ten years', async () => {
      const { active } = await of('default')
      const read = new X509Certificate(Buffer.from(active.certificates[0] ?? '', 'base64'))
      assert.equal(read.subject, 'CN=https://login.example/saml')
      assert.ok(read.checkPrivateKey(active.privateKey))
      assert.ok(read.verify(read.publicKey))
      assert.deepEqual(read.validFromDate, clock.now())
      assert.equal(read.validToDate.getUTCFullYear() - read.validFromDate.getUTCFullYear(), 10)
    })

    it('stores the generated key encrypted, bound to its name', async () => {
      const kept = await store.serverKeys.find('saml')
      assert.ok(kept)
      assert.doesNotMatch(JSON.stringify(kept), /PRIVATE KEY/)
      assert.match(vault.open(kept.sealedPrivateKey, 'server-key saml'), /PRIVATE KEY/)
      assert.throws(() => vault.open(kept.sealedPrivateKey, 'saml-key default saml'))
      assert.deepEqual((await store.zones.find('default'))?.config, {}, 'not a key of the zone')
    })

    it('uses the keys of the default zone in a zone without keys', async () => {
      await store.zones.insert(
        zone({ id: 'plain', subdomain: 'plain', config: { samlConfig: { requestSigned: false } } }),
      )
      const [plain, byDefault] = [await of('plain'), await of('default')]
      assert.equal(publicPem(plain.active), publicPem(byDefault.active))
      assert.equal(plain.entityId, 'https://plain.login.example/saml')
      assert.equal(plain.base, 'https://plain.login.example/base')
      assert.deepEqual([plain.alias, byDefault.alias], ['plain.login.example', 'login.example'])
      assert.deepEqual([plain.signsRequests, plain.wantsAssertionsSigned], [false, true])
    })

    it('uses the base URL of the requested address', async () => {
      const found = await store.zones.find('plain')
      assert.ok(found)
      assert.equal((await providers().of({ ...found, address: 'path' })).base, 'https://login.example/base/z/plain')
    })

    // Covers saml service provider: keys
    it('applies changes of the keys of the zone and of the default zone', async () => {
      const from = providers()
      const own = zone({ id: 'own', subdomain: 'own' })
      await store.zones.insert(own)
      const initially = await of('own', from)

      await save({ ...own, config: { samlConfig: await withKeys('own', { one: rsa }, { activeKeyId: 'one' }) } })
      const one = await of('own', from)
      assert.equal(publicPem(one.active), publicOf(rsa))
      assert.notEqual(publicPem(one.active), publicPem(initially.active))

      const both = await withKeys('own', { one: rsa, two: ec }, { activeKeyId: 'two', entityID: 'urn:own' })
      await save({ ...own, config: { samlConfig: both } })
      const two = await of('own', from)
      assert.equal(two.entityId, 'urn:own')
      assert.deepEqual([two.active.id, ...two.others.map(({ id }) => id)], ['two', 'one'])
      assert.equal(publicPem(two.active), publicOf(ec))

      await save({ ...own, config: {} })
      const shared = await withKeys('default', { shared: ec }, { activeKeyId: 'shared' })
      await save({ ...defaultZone, config: { samlConfig: shared } })
      assert.equal((await of('own', from)).active.id, 'shared')
      assert.equal((await of('default', from)).active.id, 'shared')

      await save(defaultZone)
      assert.equal(publicPem((await of('own', from)).active), publicPem(initially.active), 'the generated key is kept')
    })

    it('decrypts keys once for each version of a zone', async () => {
      const from = providers()
      const config = { samlConfig: await withKeys('once', { one: rsa }, { activeKeyId: 'one' }) }
      await store.zones.insert(zone({ id: 'once', subdomain: 'once', config }))
      // Read once: on PostgreSQL, the notification of the insert may arrive between two reads, and change the version.
      const found = await store.zones.find('once')
      assert.ok(found)
      const [first, second] = [
        await from.of({ ...found, address: 'host' }),
        await from.of({ ...found, address: 'host' }),
      ]
      assert.equal(first.active, second.active)
    })

    it('refuses a key that was encrypted for another zone', async () => {
      const config = { samlConfig: await withKeys('elsewhere', { one: rsa }, { activeKeyId: 'one' }) }
      await store.zones.insert(zone({ id: 'thief', subdomain: 'thief', config }))
      await assert.rejects(of('thief'))
    })

    it('retries generating the key after a failure', async () => {
      let failures = 1
      const failing: Store = {
        ...store,
        serverKeys: {
          ...store.serverKeys,
          find: name => (failures-- > 0 ? Promise.reject(new Error('no database')) : store.serverKeys.find(name)),
        },
      }
      const from = providers(failing)
      await assert.rejects(of('default', from), /no database/)
      assert.ok((await of('default', from)).active)
    })
  })
}
