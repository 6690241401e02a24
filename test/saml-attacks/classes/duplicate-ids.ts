import type { AttackClass, Means } from '../attack.ts'
import {
  aboutVictim,
  appended,
  forgedCopy,
  genuine,
  idOf,
  messageOf,
  renamed,
  replaced,
  signedAssertion,
  victimAssertion,
} from '../forging.ts'

/** The forged assertion has the signed one's id in the attribute; the signed one is its child, or its neighbour. */
const sameIdAs = (attribute: string) => (means: Means) => {
  const signed = signedAssertion(means)
  const forged = replaced(forgedCopy(signed), / ID="[^"]*"/, ` ${attribute}="${idOf(signed)}"`)
  return messageOf(means, appended(forged, signed))
}

/** The signed element is ambiguous. */
export const duplicateIds: AttackClass = {
  name: 'the same id twice',
  sources: [
    'McIntosh and Austel, XML Signature Element Wrapping Attacks, SWS 2005',
    'Gajek et al., Analysis of Signature Wrapping Attacks, ICWS 2009',
  ],
  controls: [{ name: 'unique ids', forge: genuine }],
  attacks: [
    { name: 'ID and ID', reasons: ['bad-signature'], forge: sameIdAs('ID') },
    { name: 'ID and Id', reasons: ['bad-signature'], forge: sameIdAs('Id') },
    { name: 'ID and id', reasons: ['bad-signature'], forge: sameIdAs('id') },
    { name: 'ID and xml:id', reasons: ['bad-signature'], forge: sameIdAs('xml:id') },
    { name: 'ID and AssertionID', reasons: ['several-assertions'], forge: sameIdAs('AssertionID') },
    { name: 'ID and an ID of another namespace', reasons: ['bad-signature'], forge: sameIdAs('xmlns:x="urn:x" x:ID') },
    {
      name: 'the forged assertion before the signed one',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, renamed(forgedCopy(signed), idOf(signed)) + signed)
      },
    },
    {
      name: 'the response has the id of the assertion',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        return renamed(messageOf(means, signed), idOf(signed))
      },
    },
    {
      name: 'two attributes of one element: ID and Id',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        const forged = replaced(victimAssertion(means), ' ID="', ` Id="${idOf(signed)}" ID="`)
        return messageOf(means, appended(forged, signed))
      },
    },
    {
      name: 'a status code with the id, before the assertion',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        return replaced(messageOf(means, signed), '<samlp:StatusCode ', `<samlp:StatusCode ID="${idOf(signed)}" `)
      },
    },
    {
      name: 'no ID at all, and a Reference without one',
      reasons: ['bad-signature'],
      forge: means =>
        messageOf(
          means,
          aboutVictim(signedAssertion(means))
            .replace(/ ID="[^"]*"/, '')
            .replace(/ URI="[^"]*"/, ' URI="#"'),
        ),
    },
  ],
}
