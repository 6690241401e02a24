import { SAML } from '../../support/saml/saml-xml.ts'
import type { AttackClass, Means, SamlAttack } from '../attack.ts'
import { MALLORY } from '../attack.ts'
import { appended, genuine, keyInfo, messageOf, replaced, victimAssertion } from '../forging.ts'

const within = (piece: (means: Means) => string) => (means: Means) => appended(genuine(means), piece(means))
const nested = (depth: number): string => '<a>'.repeat(depth) + '</a>'.repeat(depth)

const ATTACKS: readonly SamlAttack[] = [
  { name: '600 kB of text', reasons: ['too-large'], forge: within(() => `<x>${'a'.repeat(600_000)}</x>`) },
  { name: '600 kB of blanks', reasons: ['too-large'], forge: means => genuine(means) + ' '.repeat(600_000) },
  { name: 'ten thousand levels', reasons: ['too-large'], forge: within(() => nested(10_000)) },
  { name: 'ten thousand levels that do not end', reasons: ['too-large'], forge: within(() => '<a>'.repeat(10_000)) },
  { name: 'ten thousand elements', reasons: ['too-large'], forge: within(() => '<a/>'.repeat(10_000)) },
  {
    name: 'five thousand attributes',
    reasons: ['too-large'],
    forge: within(() => `<a ${Array.from({ length: 5000 }, (_, index) => `b${index}="c"`).join(' ')}/>`),
  },
  {
    name: 'three thousand namespaces',
    reasons: ['too-large'],
    forge: within(
      () => `<a ${Array.from({ length: 3000 }, (_, index) => `xmlns:b${index}="urn:c"`).join(' ')}>${nested(100)}</a>`,
    ),
  },
  {
    name: 'a namespace at each of a thousand levels',
    reasons: ['too-large'],
    forge: within(
      () =>
        Array.from({ length: 1000 }, (_, index) => `<a xmlns:b${index}="urn:c${index}">`).join('') +
        '</a>'.repeat(1000),
    ),
  },
  {
    name: 'an attribute of 200 kB',
    reasons: ['bad-signature'],
    forge: within(() => `<a b="${'c'.repeat(200_000)}"/>`),
  },
  { name: 'a name of 100 kB', reasons: ['too-large'], forge: within(() => `<${'a'.repeat(100_000)}/>`) },
  { name: 'a comment of 300 kB', reasons: ['too-large'], forge: within(() => `<!--${'a'.repeat(300_000)}-->`) },
  {
    name: 'a thousand signatures',
    reasons: ['too-large'],
    forge: means => {
      const piece = `<ds:Signature xmlns:ds="${SAML.signature}"><ds:SignedInfo/></ds:Signature>`
      return messageOf(means, appended(victimAssertion(means), piece.repeat(1000)))
    },
  },
  {
    name: 'a hundred certificates',
    reasons: ['bad-signature'],
    forge: means =>
      replaced(
        genuine(means).replaceAll('mallory', 'victim'),
        /<ds:KeyInfo>.*<\/ds:KeyInfo>/s,
        keyInfo(...Array.from({ length: 100 }, () => means.ownKey)),
      ),
  },
  {
    name: 'fifty assertions',
    only: 'acs',
    reasons: ['several-assertions'],
    forge: means => messageOf(means, Array.from({ length: 50 }, () => victimAssertion(means)).join('')),
  },
  {
    name: 'ten thousand references to characters',
    reasons: ['bad-signature'],
    forge: means => replaced(genuine(means), '>mallory<', `>${'&#x61;'.repeat(10_000)}<`),
  },
]

/** Messages that are expensive to process; each must be refused quickly. */
export const size: AttackClass = {
  name: 'huge and deep documents',
  sources: ['CVE-2025-25293', 'CVE-2025-54572', 'CWE-400'],
  controls: [
    {
      name: 'many attributes of a user',
      forge: means =>
        genuine(means, {
          attributes: Array.from({ length: 100 }, (_, index) => ({ name: `group-${index}`, values: ['a', 'b'] })),
        }),
    },
  ],
  // A server may accept the ones that it can process quickly, because they are the attacker's own sign-in.
  attacks: ATTACKS.map(each => ({ ...each, means: MALLORY })),
}
