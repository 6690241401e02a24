// The SAML service provider that a zone is: its entity id, its address and its keys. Owns the opened private keys, which
// leave this folder only as key objects for signing and decryption.
import { createPrivateKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readCertificates } from '../../base/certificates/certificate.ts'
import { loadOnce } from '../../base/concurrency/load-once.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Vault } from '../../base/secrets.ts'
import { selfSignedCertificate } from '../../base/certificates/self-signed-certificate.ts'
import type { AddressedZone } from '../../model/request.ts'
import { sealContexts } from '../../model/seal-contexts.ts'
import type { Urls } from '../../model/urls.ts'
import type { SamlConfig, Zone } from '../../model/zones/zone.ts'
import { samlAliasOf, samlEntityIdOf } from '../../model/zones/zone.ts'
import type { ServerKey, Store } from '../../store/store.ts'
import { openSamlKey, samlActiveKeyId } from '../../zones/saml-keys.ts'

/** The service provider of a zone, at the URL by which the zone was requested. */
export interface ServiceProvider {
  readonly entityId: string
  /** The zone's base URL, without a trailing slash. */
  readonly base: string
  /** The last segment of its endpoints, percent-encoded. */
  readonly alias: string
  /** Signs. */
  readonly active: SpKey
  /** Decrypt what providers still encrypt for them. */
  readonly others: readonly SpKey[]
  readonly signsRequests: boolean
  /** What the metadata says; an assertion without a verified signature is refused anyway. */
  readonly wantsAssertionsSigned: boolean
}

/** A key pair of a service provider. */
export interface SpKey {
  readonly id: string
  /** RSA or EC. */
  readonly privateKey: KeyObject
  /** DER in base64, its own first. */
  readonly certificates: readonly string[]
}

/** Dependencies of `createServiceProviders`. */
export interface ServiceProviderDeps {
  readonly store: Store
  readonly vault: Vault
  readonly clock: Clock
  readonly random: Random
  readonly urls: Urls
  readonly defaultZoneId: string
  /** The entity id of the default zone. */
  readonly samlEntityId: string
  /** Makes an RSA key off the main thread; in PKCS#8 PEM. */
  readonly generateKey: (algorithm: 'RS256', random: Random) => Promise<{ readonly privateKey: string }>
}

/** The service providers of all zones. */
export interface ServiceProviders {
  of(zone: AddressedZone): Promise<ServiceProvider>
}

type Keys = Pick<ServiceProvider, 'active' | 'others'>

/** Name of the key that the server generates, and its id as a key. */
const SERVER_KEY = 'saml'
/** Ten years: where a provider checks the date, each renewal has to be arranged with its administrators. */
const CERTIFICATE_DAYS = 3652
const DAY = 86_400_000

/**
 * Opens keys once per version of a zone's settings, which the store caches and invalidates. A zone without keys uses those
 * of the default zone; without any there, the server's own, which is made at the first use.
 */
export function createServiceProviders(deps: ServiceProviderDeps): ServiceProviders {
  const { store, vault, clock, random, urls, defaultZoneId, samlEntityId } = deps
  const opened = new WeakMap<SamlConfig, Keys>()

  function configured({ id, config: { samlConfig } }: Zone): Keys | undefined {
    if (samlConfig === undefined) return undefined
    const cached = opened.get(samlConfig)
    if (cached) return cached
    const activeId = samlActiveKeyId(samlConfig)
    const keys = Object.entries(samlConfig.keys ?? {}).map(
      ([keyId, key]): SpKey => ({
        id: keyId,
        privateKey: createPrivateKey(openSamlKey(id, keyId, key, vault)),
        certificates: certificatesOf(key.certificate),
      }),
    )
    const active = keys.find(key => key.id === activeId)
    if (!active) return undefined
    const pairs = { active, others: keys.filter(key => key !== active) }
    opened.set(samlConfig, pairs)
    return pairs
  }

  const serverKey = loadOnce(async (): Promise<Keys> => {
    const key = (await store.serverKeys.find(SERVER_KEY)) ?? (await store.serverKeys.saveFirst(await madeKey()))
    const privateKey = createPrivateKey(vault.open(key.sealedPrivateKey, sealContexts.serverKey(SERVER_KEY)))
    return { active: { id: SERVER_KEY, privateKey, certificates: certificatesOf(key.certificate) }, others: [] }
  })

  async function madeKey(): Promise<ServerKey> {
    const { privateKey } = await deps.generateKey('RS256', random)
    const now = clock.now()
    const certificate = selfSignedCertificate({
      privateKey: createPrivateKey(privateKey),
      commonName: samlEntityId,
      from: now,
      to: new Date(now.getTime() + CERTIFICATE_DAYS * DAY),
      serial: random.bytes(15),
    })
    const sealedPrivateKey = vault.seal(privateKey, sealContexts.serverKey(SERVER_KEY))
    return { name: SERVER_KEY, sealedPrivateKey, certificate, createdAt: now }
  }

  async function keysOf(zone: Zone): Promise<Keys> {
    const mine = configured(zone)
    if (mine) return mine
    const defaultZone = zone.id === defaultZoneId ? undefined : await store.zones.find(defaultZoneId)
    const shared = defaultZone && configured(defaultZone)
    return shared ?? serverKey()
  }

  return {
    async of(zone) {
      const { requestSigned = true, wantAssertionSigned = true } = zone.config.samlConfig ?? {}
      const entityId = samlEntityIdOf(zone, samlEntityId)
      return {
        entityId,
        base: urls.ofZone(zone),
        alias: encodeURIComponent(samlAliasOf(zone, samlEntityId)),
        ...(await keysOf(zone)),
        signsRequests: requestSigned,
        wantsAssertionsSigned: wantAssertionSigned,
      }
    },
  }
}

const certificatesOf = (pem: string): readonly string[] =>
  (readCertificates(pem) ?? []).map(({ raw }) => raw.toString('base64'))
