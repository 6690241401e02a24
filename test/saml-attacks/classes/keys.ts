import { createPublicKey } from 'node:crypto'
import { SAML } from '../../support/saml/saml-xml.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'
import type { AttackClass, Means } from '../attack.ts'
import { ecdsaBy, genuine, handSigned, keyInfo, messageOf, victimAssertion } from '../forging.ts'

const signedByAttacker = (more: (means: Means) => string) => (means: Means) =>
  messageOf(means, handSigned(victimAssertion(means), means.ownKey, { more: more(means) }))

const base64 = (base64url = ''): string => Buffer.from(base64url, 'base64url').toString('base64')

function keyValue({ ownKey }: Means): string {
  const { n, e } = createPublicKey(ownKey.certificate).export({ format: 'jwk' })
  return `<ds:KeyInfo><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>${base64(n)}</ds:Modulus><ds:Exponent>${base64(e)}</ds:Exponent></ds:RSAKeyValue></ds:KeyValue></ds:KeyInfo>`
}

/** Keys in the message, which must be ignored in favour of the provider's metadata. */
export const keys: AttackClass = {
  name: 'key from the message',
  sources: ['CVE-2023-48703', 'GHSL-2023-121', 'SAML Metadata 2.4.1.1'],
  controls: [
    { name: "the provider's certificate in KeyInfo", forge: genuine },
    {
      name: 'no KeyInfo',
      forge: means => messageOf(means, handSigned(means.idp.assertion(means.parts), means.idp.key)),
    },
    {
      name: 'a foreign certificate in KeyInfo, signed by the provider',
      forge: means =>
        messageOf(means, handSigned(means.idp.assertion(means.parts), means.idp.key, { more: keyInfo(means.ownKey) })),
    },
  ],
  attacks: [
    { name: 'a key of the attacker, no KeyInfo', reasons: ['bad-signature'], forge: signedByAttacker(() => '') },
    {
      name: 'the attacker’s certificate in the name of the provider',
      reasons: ['bad-signature'],
      forge: signedByAttacker(({ ownKey }) => keyInfo(ownKey)),
    },
    {
      name: "the provider's certificate before the attacker's",
      reasons: ['bad-signature'],
      forge: signedByAttacker(({ idp, ownKey }) => keyInfo(idp.key, ownKey)),
    },
    {
      name: "the attacker's certificate before the provider's",
      reasons: ['bad-signature'],
      forge: signedByAttacker(({ idp, ownKey }) => keyInfo(ownKey, idp.key)),
    },
    {
      name: "the provider's certificate alone",
      reasons: ['bad-signature'],
      forge: signedByAttacker(({ idp }) => keyInfo(idp.key)),
    },
    { name: 'RSAKeyValue', reasons: ['bad-signature'], forge: signedByAttacker(keyValue) },
    {
      name: "the provider's name for its key",
      reasons: ['bad-signature'],
      forge: signedByAttacker(({ idp }) => `<ds:KeyInfo><ds:KeyName>${idp.entityId}</ds:KeyName></ds:KeyInfo>`),
    },
    {
      name: 'a key to be fetched',
      reasons: ['bad-signature'],
      forge: signedByAttacker(() => '<ds:KeyInfo><ds:RetrievalMethod URI="http://127.0.0.1:9/key"/></ds:KeyInfo>'),
    },
    {
      name: 'an EC key instead of the RSA key of the provider',
      reasons: ['bad-signature'],
      forge: means => {
        const key = samlTestKey('ec')
        const parts = { method: SAML.ecdsaSha256, value: ecdsaBy(key), more: keyInfo(key) }
        return messageOf(means, handSigned(victimAssertion(means), key, parts))
      },
    },
    {
      name: 'the key of another provider of the same server',
      reasons: ['bad-signature'],
      forge: means => messageOf(means, handSigned(victimAssertion(means), means.rival.key)),
    },
  ],
}
