import type { AttackClass, Means } from '../attack.ts'
import { genuine, replaced, signedResponse } from '../forging.ts'

/** The whole name is the attacker's; its prefix is the victim's. */
const NAME = 'victim.mallory.example'

const cutBy =
  (cut: string, of: (means: Means) => string = means => genuine(means, { nameId: NAME })) =>
  (means: Means) =>
    replaced(of(means), `>${NAME}<`, `>victim${cut}.mallory.example<`)

/** Nodes that canonicalization removes in the middle of a text, which must not truncate it. */
export const comments: AttackClass = {
  name: 'text cut by a comment or an instruction',
  sources: [
    'CVE-2017-11427',
    'CVE-2017-11428',
    'CVE-2017-11429',
    'CVE-2018-0489',
    'VU#475445',
    'oblique.security, Hacking SAML, 2026',
  ],
  controls: [{ name: 'the whole name', forge: means => genuine(means, { nameId: NAME }) }],
  attacks: [
    { name: 'a comment in the name', reasons: ['comment'], means: NAME, forge: cutBy('<!-- -->') },
    {
      name: 'a comment in the name, the response signed',
      only: 'acs',
      reasons: ['comment'],
      means: NAME,
      forge: cutBy('<!-- -->', means => signedResponse(means, { nameId: NAME })),
    },
    {
      name: 'a comment before the name',
      reasons: ['comment'],
      means: NAME,
      forge: means => replaced(genuine(means, { nameId: NAME }), `>${NAME}<`, `><!--victim-->${NAME}<`),
    },
    { name: 'a processing instruction in the name', reasons: ['not-xml'], forge: cutBy('<?x?>') },
    {
      name: 'a processing instruction that holds a part of the name',
      source: 'OneUptime issue 2988 (2026): xml-crypto digests its data as text',
      reasons: ['not-xml'],
      forge: means => replaced(genuine(means, { nameId: 'not-a-victim' }), '>not-a-victim<', '><?p not-a-?>victim<'),
    },
    {
      name: 'a CDATA section in the name',
      reasons: [],
      means: NAME,
      forge: means => replaced(genuine(means, { nameId: NAME }), `>${NAME}<`, '>victim<![CDATA[.mallory.example]]><'),
    },
    {
      name: 'an empty element in the name',
      reasons: ['bad-signature'],
      forge: cutBy('<x/>'),
    },
    {
      name: 'a comment in the audience',
      reasons: ['comment'],
      forge: means =>
        replaced(
          genuine(means, { audiences: [`${means.to.entityId}.mallory.example`] }),
          `>${means.to.entityId}.mallory`,
          `>${means.to.entityId}<!-- -->.mallory`,
        ),
    },
    {
      name: 'a comment in the issuer',
      reasons: ['comment'],
      forge: means =>
        replaced(
          genuine(means, { issuer: `${means.idp.entityId}.mallory.example`, responseIssuer: means.idp.entityId }),
          `>${means.idp.entityId}.mallory`,
          `>${means.idp.entityId}<!-- -->.mallory`,
        ),
    },
  ],
}
