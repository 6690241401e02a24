import type { AttackClass, Means } from '../attack.ts'
import { genuine } from '../forging.ts'

const restriction = (...audiences: readonly string[]): string =>
  `<saml:AudienceRestriction>${audiences.map(audience => `<saml:Audience>${audience}</saml:Audience>`).join('')}</saml:AudienceRestriction>`
const forAudiences =
  (audiences: (entityId: string) => readonly string[] | null) =>
  (means: Means): string =>
    genuine(means, { audiences: audiences(means.to.entityId) })

/** What was issued for another service must not be good here. */
export const audience: AttackClass = {
  name: 'wrong audience',
  sources: ['SAML Core 2.5.1.4', 'SAML Profiles 4.1.4.2', 'RFC 7522 3 (2)'],
  controls: [
    {
      name: 'one of several audiences',
      forge: forAudiences(entityId => ['https://other.example', entityId]),
    },
    {
      name: 'two restrictions that both name it',
      forge: means => genuine(means, { moreConditions: restriction('https://other.example', means.to.entityId) }),
    },
  ],
  attacks: [
    { name: 'another audience', reasons: ['audience'], forge: forAudiences(() => ['https://other.example']) },
    { name: 'no restriction', reasons: ['audience'], forge: forAudiences(() => null) },
    { name: 'no conditions', reasons: ['condition'], forge: means => genuine(means, { conditions: null }) },
    { name: 'a restriction without audience', reasons: ['audience'], forge: forAudiences(() => []) },
    { name: 'an empty audience', reasons: ['audience'], forge: forAudiences(() => ['']) },
    {
      name: 'two restrictions, of which one names another',
      reasons: ['audience'],
      forge: means => genuine(means, { moreConditions: restriction('https://other.example') }),
    },
    {
      name: 'the name and more',
      reasons: ['audience'],
      forge: forAudiences(entityId => [`${entityId}.mallory.example`]),
    },
    { name: 'a part of the name', reasons: ['audience'], forge: forAudiences(entityId => [entityId.slice(0, -1)]) },
    {
      name: 'the name in other letters',
      reasons: ['issuer', 'audience'],
      forge: forAudiences(entityId => [entityId.toUpperCase()]),
    },
    { name: 'any', reasons: ['audience'], forge: forAudiences(() => ['*']) },
    {
      name: 'both names in one element',
      reasons: ['audience'],
      forge: forAudiences(entityId => [`https://other.example ${entityId}`]),
    },
  ],
}
