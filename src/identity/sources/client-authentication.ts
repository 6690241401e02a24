// How this server authenticates at a provider's token endpoint: by a secret (RFC 6749 §2.3.1), or by a JWT that it signs with a
// key of the record or of the zone (RFC 7523 §2.2, OpenID Connect Core §9).
import { createPrivateKey } from 'node:crypto'
import { SignJWT } from 'jose/jwt/sign'
import { readCertificates } from '../../base/certificates/certificate.ts'
import { epochSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { readPrivateKey } from '../../base/certificates/private-key.ts'
import type { PrivateKey } from '../../base/certificates/private-key.ts'
import type { Random } from '../../base/random.ts'
import type { Vault } from '../../base/secrets.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { authMethodOf } from '../../providers/provider-oauth.ts'
import { openProviderSecrets } from '../../providers/provider-secrets.ts'
import type { RedirectRefusal } from '../source.ts'
import { basic, stringOf } from './oidc/request.ts'
import type { OidcRecord } from './oidc/request.ts'

/** The keys that zones sign with. */
interface ZoneKeys {
  active(zoneId: string): Promise<ZoneSigningKey>
}

/** The key that a zone signs with, its own or that of the default zone. */
interface ZoneSigningKey {
  readonly zoneId: string
  readonly keyId: string
  /** Absent for a shared secret, which no provider could verify with. */
  readonly publicKeyPem?: string
  sign(type: string, payload: object): Promise<string>
}

/** The headers and form fields that it adds to a token request. */
interface ClientProof {
  readonly outcome: 'proof'
  readonly headers: Readonly<Record<string, string>>
  /** To be added to the form. */
  readonly fields: Readonly<Record<string, string>>
}

/** Authenticates this server to a provider; the refusal says why the record does not allow that. */
type ClientAuthentication = (
  provider: IdentityProvider,
  at: { readonly tokenUrl: string; readonly relyingPartyId: string },
  /** UAA: ignores `clientAuthInBody` for passwords. */
  options?: { readonly ignoresBody?: boolean },
) => Promise<ClientProof | RedirectRefusal>

/** Dependencies of `createClientAuthentication`. */
export interface ClientAuthenticationDeps {
  readonly vault: Vault
  readonly clock: Clock
  readonly random: Random
  readonly zoneKeys: ZoneKeys
}

/** UAA: lets an assertion begin before now, for providers whose clock is behind. */
const EARLY_SECONDS = 120
const LIFE_SECONDS = 300
const JTI_LENGTH = 32
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The key of the record, or of the zone, cannot be used; the message is for the log. */
class UnusableKey extends Error {
  override name = 'UnusableKey'
}

/** See `ClientAuthentication`. */
export function createClientAuthentication(deps: ClientAuthenticationDeps): ClientAuthentication {
  const { vault, clock, random, zoneKeys } = deps

  async function assertionOf(
    provider: IdentityProvider,
    settings: unknown,
    { tokenUrl, relyingPartyId }: Parameters<ClientAuthentication>[1],
  ): Promise<string> {
    const now = epochSeconds(clock.now())
    const own = isJsonRecord(settings) ? settings : {}
    const payload = {
      iss: relyingPartyId,
      sub: relyingPartyId,
      aud: stringOf(own['aud']) ?? tokenUrl,
      jti: random.urlSafe(JTI_LENGTH),
      iat: now - EARLY_SECONDS,
      exp: now + LIFE_SECONDS,
    }
    const key = stringOf(own['key'])
    if (key !== undefined) {
      const [iss, sub] = [stringOf(own['iss']) ?? relyingPartyId, stringOf(own['sub']) ?? relyingPartyId]
      return signWith(key, own, { ...payload, iss, sub })
    }
    const zoneKey = await zoneKeys.active(provider.zoneId)
    checkZoneKey(provider, zoneKey, own)
    if (!URL.canParse(payload.aud) || new URL(payload.aud).origin !== new URL(tokenUrl).origin) {
      throw new UnusableKey('jwtClientAuthentication.aud is on another host than the token endpoint')
    }
    return zoneKey.sign('JWT', payload)
  }

  return async (provider, at, { ignoresBody = false } = {}) => {
    const { config }: OidcRecord = openProviderSecrets(provider, vault)
    const secret = stringOf(config.relyingPartySecret) ?? ''
    const { relyingPartyId } = at
    const inBody = { ...config, ...(ignoresBody && { clientAuthInBody: false }) }
    switch (stringOf(config.authMethod) ?? authMethodOf(inBody)) {
      case 'client_secret_basic':
        return proof({}, { authorization: basic(relyingPartyId, secret) })
      case 'client_secret_post':
        return proof({ client_id: relyingPartyId, client_secret: secret })
      case 'private_key_jwt':
        try {
          const client_assertion = await assertionOf(provider, config.jwtClientAuthentication, at)
          return proof({ client_id: relyingPartyId, client_assertion_type: ASSERTION_TYPE, client_assertion })
        } catch (error) {
          if (!(error instanceof UnusableKey)) throw error
          return { outcome: 'unavailable', detail: error.message }
        }
      default:
        return proof({ client_id: relyingPartyId })
    }
  }
}

const proof = (fields: ClientProof['fields'], headers: ClientProof['headers'] = {}): ClientProof => ({
  outcome: 'proof',
  headers,
  fields,
})

/**
 * Administrators of providers choose the claims of the assertion. If it is signed with a key that other servers trust, no
 * claim may identify another zone or this server.
 */
function checkZoneKey({ zoneId }: IdentityProvider, key: ZoneSigningKey, own: JsonRecord): void {
  if (key.zoneId !== zoneId) throw new UnusableKey('the zone has no signing key of its own')
  if (key.publicKeyPem === undefined) throw new UnusableKey('the zone signs with a shared secret')
  const kid = stringOf(own['kid'])
  if (kid !== undefined && kid !== key.keyId) throw new UnusableKey('the zone does not sign with the key of that kid')
  if ((stringOf(own['iss']) ?? stringOf(own['sub'])) !== undefined)
    throw new UnusableKey('jwtClientAuthentication.iss and sub require jwtClientAuthentication.key')
}

async function signWith(pem: string, own: JsonRecord, payload: Readonly<Record<string, unknown>>): Promise<string> {
  const key = readPrivateKey(pem)
  const alg = key && (stringOf(own['alg']) ?? algorithmOf(key))
  if (!key || alg === undefined || !fits(key, alg)) {
    throw new UnusableKey('jwtClientAuthentication.key cannot be read, is too weak, or does not fit alg')
  }
  const kid = stringOf(own['kid'])
  const header = { alg, typ: 'JWT', ...(kid !== undefined && { kid }), ...thumbprints(stringOf(own['cert'])) }
  return new SignJWT(payload).setProtectedHeader(header).sign(createPrivateKey(key.privatePem))
}

const CURVES: ReadonlyMap<string | undefined, string> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
])
const MIN_RSA_BITS = 2048 // RFC 7518 §3.3

function algorithmOf({ type, curve }: PrivateKey): string | undefined {
  if (type === 'rsa') return 'RS256'
  return type === 'ec' ? CURVES.get(curve) : type === 'ed25519' ? 'EdDSA' : undefined
}

function fits(key: PrivateKey, alg: string): boolean {
  if (key.type === 'rsa') return /^[RP]S(?:256|384|512)$/.test(alg) && (key.bits ?? 0) >= MIN_RSA_BITS
  return alg === algorithmOf(key) || (key.type === 'ed25519' && alg === 'Ed25519')
}

/** RFC 7515 §4.1.7 and §4.1.8: Entra ID recognises keys by these. */
function thumbprints(cert: string | undefined): Readonly<Record<string, string>> {
  if (cert === undefined) return {}
  const [certificate] = readCertificates(cert) ?? []
  if (!certificate) throw new UnusableKey('jwtClientAuthentication.cert cannot be read')
  return { x5t: certificate.thumbprints.sha1, 'x5t#S256': certificate.thumbprints.sha256 }
}
