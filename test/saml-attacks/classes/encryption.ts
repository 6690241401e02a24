import { samlTestKey, encrypted } from '../../support/saml/saml-signing.ts'
import { SAML } from '../../support/saml/saml-xml.ts'
import type { EncryptionParts } from '../../support/saml/saml-parts.ts'
import type { AttackClass, Means, SamlAttack } from '../attack.ts'
import { MALLORY, VICTIM } from '../attack.ts'
import {
  afterIssuer,
  appended,
  messageOf,
  replaced,
  signatureOf,
  signedAssertion,
  victimAssertion,
} from '../forging.ts'

const XMLENC = 'http://www.w3.org/2001/04/xmlenc#'

/** An `EncryptedAssertion` of the text. */
const sealed = async (means: Means, xml: string, parts: Partial<EncryptionParts> = {}): Promise<string> =>
  `<saml:EncryptedAssertion>${await encrypted(xml, { certificate: means.encryptTo ?? '', ...parts })}</saml:EncryptedAssertion>`

const around =
  (xml: (means: Means) => string, parts?: Partial<EncryptionParts>) =>
  async (means: Means): Promise<string> =>
    messageOf(means, await sealed(means, xml(means), parts))

/** The genuine encrypted message with a change. */
const changed =
  (change: (xml: string, means: Means) => string) =>
  async (means: Means): Promise<string> =>
    change(messageOf(means, await sealed(means, signedAssertion(means))), means)

/** The n-th ciphertext with one bit flipped: 0 is that of the key, 1 that of the assertion. */
function withBitTurned(xml: string, index: number): string {
  const values = [
    ...xml.matchAll(/<e:CipherValue>([^<]*)<\/e:CipherValue>|<xenc:CipherValue>([^<]*)<\/xenc:CipherValue>/g),
  ]
  const text = values[index]?.[1] ?? values[index]?.[2] ?? ''
  const bytes = Buffer.from(text, 'base64')
  const last = bytes.length - 1
  bytes.writeUInt8(bytes.readUInt8(last) ^ 1, last)
  return replaced(xml, text, bytes.toString('base64'))
}

const attack = (name: string, forge: SamlAttack['forge'], source?: string): SamlAttack => ({
  name,
  only: 'acs',
  isEncrypted: true,
  reasons: ['decryption', 'algorithm', 'bad-signature', 'several-assertions'],
  forge,
  ...(source !== undefined && { source }),
})

const ENCRYPTED_KEY = /<(\w+:)?EncryptedKey.*EncryptedKey>/s
const NAME = /<saml:NameID.*<\/saml:NameID>/s
const SEALED_NAME = /<saml:EncryptedID.*<\/saml:EncryptedID>/s
const declaring = (element: string): string => element.replace(/^<saml:\w+/, `$& xmlns:saml="${SAML.assertion}"`)
const nameOf = ({ idp, parts }: Means): string => declaring(NAME.exec(idp.assertion(parts))?.[0] ?? '')
const victimName = (means: Means): string => nameOf(means).replace(MALLORY, VICTIM)

/** An `EncryptedID` of the text. */
const sealedName = async (means: Means, xml: string, parts: Partial<EncryptionParts> = {}): Promise<string> =>
  `<saml:EncryptedID>${await encrypted(xml, { certificate: means.encryptTo ?? '', ...parts })}</saml:EncryptedID>`

/** An assertion with the piece, signed by the provider. */
const signedWith = ({ idp, parts }: Means, place: RegExp, piece: string): string =>
  idp.sign(replaced(idp.assertion(parts), place, piece))

/** A signed assertion with an EncryptedID. */
const withSealedName = async (
  means: Means,
  parts?: Partial<EncryptionParts>,
  change = (name: string) => name,
): Promise<string> => signedWith(means, NAME, await sealedName(means, change(nameOf(means)), parts))

/** An attack with encrypted elements in the assertion, at both endpoints. */
const elementAttack = (name: string, forge: (means: Means) => Promise<string>, source?: string): SamlAttack => ({
  name,
  isEncrypted: true,
  reasons: ['decryption', 'algorithm', 'bad-signature', 'no-signature', 'name-id'],
  forge: async means => messageOf(means, await forge(means)),
  ...(source !== undefined && { source }),
})

/** Encrypting to the server requires no secret, so encryption proves nothing. */
export const encryption: AttackClass = {
  name: 'encrypted assertions',
  sources: [
    'CVE-2026-2092',
    'Jager and Somorovsky, How to Break XML Encryption, CCS 2011',
    'Jager et al., Bleichenbacher’s Attack Strikes Again, ESORICS 2012',
  ],
  controls: [
    {
      name: 'a signed assertion, encrypted (GCM)',
      only: 'acs',
      isEncrypted: true,
      forge: around(means => signedAssertion(means)),
    },
    {
      name: 'an encrypted assertion in a signed response',
      only: 'acs',
      isEncrypted: true,
      forge: ({ idp, parts, encryptTo }) =>
        idp.response({ ...parts, signs: ['response'], encrypts: { certificate: encryptTo ?? '' } }),
    },
    {
      name: 'an encrypted name in a signed assertion',
      isEncrypted: true,
      forge: async means => messageOf(means, await withSealedName(means)),
    },
    {
      name: 'an encrypted name in a signed assertion (CBC)',
      isEncrypted: true,
      forge: async means => messageOf(means, await withSealedName(means, { algorithm: SAML.cbc })),
    },
  ],
  attacks: [
    attack(
      'an unsigned assertion, encrypted',
      around(means => victimAssertion(means)),
      'CVE-2026-2092',
    ),
    attack('an unsigned assertion, encrypted, with the encrypted key of a genuine one before its own', async means => {
      const [genuineKey = ''] = ENCRYPTED_KEY.exec(await sealed(means, signedAssertion(means))) ?? []
      const forged = await sealed(means, victimAssertion(means))
      return messageOf(means, replaced(forged, ENCRYPTED_KEY, genuineKey + (ENCRYPTED_KEY.exec(forged)?.[0] ?? '')))
    }),
    attack(
      'a signed response around an unsigned encrypted assertion that was put in afterwards',
      async means => {
        const response = await means.idp.response({ ...means.parts, signs: ['response'] })
        return replaced(response, /<saml:Assertion.*<\/saml:Assertion>/s, await sealed(means, victimAssertion(means)))
      },
      'CVE-2026-2092',
    ),
    attack('a response signed by another provider around an encrypted assertion of the first', async means =>
      means.rival.responseAround(await sealed(means, victimAssertion(means)), {
        ...means.parts,
        signs: ['response'],
        responseIssuer: means.rival.entityId,
      }),
    ),
    attack('a signed response around an encrypted assertion that somebody else signed', async means =>
      means.idp.responseAround(await sealed(means, means.idp.sign(victimAssertion(means), { key: means.ownKey })), {
        ...means.parts,
        signs: ['response'],
      }),
    ),
    attack(
      'an encrypted forged assertion beside a signed one',
      async means => messageOf(means, signedAssertion(means) + (await sealed(means, victimAssertion(means)))),
      'CVE-2026-2092',
    ),
    attack('an encrypted forged assertion before a signed one', async means =>
      messageOf(means, (await sealed(means, victimAssertion(means))) + signedAssertion(means)),
    ),
    attack(
      'an assertion signed by the attacker, encrypted',
      around(means => means.idp.sign(victimAssertion(means), { key: means.ownKey })),
    ),
    attack('the signature outside, the forged assertion inside', async means => {
      const signature = signatureOf(signedAssertion(means))
      return messageOf(means, (await sealed(means, victimAssertion(means))) + signature)
    }),
    attack('encrypted to another key', async means =>
      messageOf(means, await sealed(means, signedAssertion(means), { certificate: samlTestKey().certificate })),
    ),
    attack(
      '3DES',
      around(means => signedAssertion(means), { algorithm: `${XMLENC}tripledes-cbc` }),
    ),
    attack(
      'RSA 1.5 for the key',
      around(means => signedAssertion(means), { keyAlgorithm: `${XMLENC}rsa-1_5` }),
      'Jager et al., Bleichenbacher’s Attack Strikes Again, ESORICS 2012',
    ),
    attack(
      'a bit of the cipher text turned',
      changed(xml => withBitTurned(xml, 1)),
    ),
    attack('a bit of the cipher text of CBC turned', async means =>
      withBitTurned(messageOf(means, await sealed(means, signedAssertion(means), { algorithm: SAML.cbc })), 1),
    ),
    attack(
      'a bit of the encrypted key turned',
      changed(xml => withBitTurned(xml, 0)),
    ),
    attack(
      'another algorithm named than was used',
      changed(xml => replaced(xml, SAML.gcm, `${XMLENC}aes256-cbc`)),
      'Jager et al., One bad apple: backwards compatibility attacks, NDSS 2013',
    ),
    attack(
      'an unknown algorithm',
      changed(xml => replaced(xml, SAML.gcm, 'urn:none')),
    ),
    attack(
      'an unknown algorithm of the key',
      changed(xml => replaced(xml, SAML.oaep, 'urn:none')),
    ),
    attack(
      'cipher text at a URL',
      changed(xml =>
        replaced(
          xml,
          /<(\w+):CipherValue>[^<]*<\/\1:CipherValue>(?!.*CipherValue)/s,
          '<CipherReference xmlns="http://www.w3.org/2001/04/xmlenc#" URI="http://127.0.0.1:9/"/>',
        ),
      ),
    ),
    attack(
      'no cipher text',
      changed(xml => xml.replace(/<(\w+):CipherValue>[^<]*<\/\1:CipherValue>/g, '')),
    ),
    attack(
      'empty cipher text',
      changed(xml => xml.replace(/(<\w+:CipherValue>)[^<]*/g, '$1')),
    ),
    attack(
      'not XML, encrypted',
      around(() => 'victim'),
    ),
    attack(
      'two assertions, encrypted as one',
      around(means => signedAssertion(means) + victimAssertion(means)),
    ),
    attack(
      'a response, encrypted as an assertion',
      around(means => messageOf(means, signedAssertion(means))),
    ),
    attack(
      'a document type, encrypted',
      around(means => `<!DOCTYPE x [<!ENTITY a "victim">]>${signedAssertion(means)}`),
    ),
    attack('an encrypted assertion within an encrypted one', async means =>
      messageOf(means, await sealed(means, await sealed(means, signedAssertion(means)))),
    ),
    elementAttack('an encrypted name added after signing', async means =>
      replaced(signedAssertion(means), NAME, await sealedName(means, victimName(means))),
    ),
    elementAttack('an encrypted name that replaces another one', async means =>
      replaced(await withSealedName(means), SEALED_NAME, await sealedName(means, victimName(means))),
    ),
    elementAttack('an encrypted name in an unsigned assertion', async means =>
      replaced(victimAssertion(means), NAME, await sealedName(means, victimName(means))),
    ),
    elementAttack('an encrypted name outside the signed assertion', async means =>
      afterIssuer(signedAssertion(means), await sealedName(means, victimName(means))),
    ),
    elementAttack('an encrypted attribute added after signing', async means => {
      const attribute = `<saml:Attribute xmlns:saml="${SAML.assertion}" Name="mail"/>`
      const cipher = await encrypted(attribute, { certificate: means.encryptTo ?? '' })
      return appended(
        signedAssertion(means),
        `<saml:AttributeStatement><saml:EncryptedAttribute>${cipher}</saml:EncryptedAttribute></saml:AttributeStatement>`,
      )
    }),
    elementAttack('an encrypted name with a flipped bit in its ciphertext', async means =>
      withBitTurned(await withSealedName(means), 1),
    ),
    elementAttack('a name encrypted to another key', means =>
      withSealedName(means, { certificate: samlTestKey().certificate }),
    ),
    elementAttack('a name encrypted with 3DES', means =>
      withSealedName(means, { algorithm: `${XMLENC}tripledes-cbc` }),
    ),
    elementAttack(
      'a name encrypted with RSA 1.5 for the key',
      means => withSealedName(means, { keyAlgorithm: `${XMLENC}rsa-1_5` }),
      'Jager et al., Bleichenbacher’s Attack Strikes Again, ESORICS 2012',
    ),
    elementAttack('a comment in an encrypted name', means =>
      withSealedName(means, {}, name => name.replace(MALLORY, `${VICTIM}<!-- -->`)),
    ),
    elementAttack('an assertion, encrypted as a name', means =>
      withSealedName(means, {}, () => signedAssertion(means)),
    ),
    elementAttack('two names, one of them encrypted', async means =>
      signedWith(means, NAME, victimName(means) + (await sealedName(means, nameOf(means)))),
    ),
    elementAttack('two encrypted names', async means =>
      signedWith(means, NAME, (await sealedName(means, victimName(means))) + (await sealedName(means, nameOf(means)))),
    ),
  ],
}
