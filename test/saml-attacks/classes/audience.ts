import type { AttackClass, Means } from '../attack.ts'
import { genuine } from '../forging.ts'

const restriction = (...audiences: readonly string[]): string =>
  `<saml:AudienceRestriction>${audiences.map(audience => `<saml:Audience>${audience}</saml:Audience>`).join('')}</saml:AudienceRestriction>`
const forAudiences =
  (audiences: (entityId: string) => readonly string[] | null) =>
  (means: Means): string =>
    genuine(means, { audiences: audiences(means.to.entityId) })

/** Assertions for another service. */
export const audience: AttackClass = {
  name: 'wrong audience',
  sources: ['SAML Core 2.5.1.4', 'SAML Profiles 4.1.4.2', 'RFC 7522 3 (2)'],
  controls: [
    {
      name: 'one of several audiences',
      forge: forAudiences(entityId => ['https://other.example', entityId]),
    },
    {
      name: 'two restrictions to this service',
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
      name: 'two restrictions, one of them to another service',
      reasons: ['audience'],
      forge: means => genuine(means, { moreConditions: restriction('https://other.example') }),
    },
    {
      name: 'an audience that starts with the entity id',
      reasons: ['audience'],
      forge: forAudiences(entityId => [`${entityId}.mallory.example`]),
    },
    {
      name: 'a part of the entity id',
      reasons: ['audience'],
      forge: forAudiences(entityId => [entityId.slice(0, -1)]),
    },
    {
      name: 'the entity id in another case',
      reasons: ['issuer', 'audience'],
      forge: forAudiences(entityId => [entityId.toUpperCase()]),
    },
    { name: 'a wildcard', reasons: ['audience'], forge: forAudiences(() => ['*']) },
    {
      name: 'two entity ids in one element',
      reasons: ['audience'],
      forge: forAudiences(entityId => [`https://other.example ${entityId}`]),
    },
  ],
}
