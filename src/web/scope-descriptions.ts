import type { Service } from '../model/service.ts'
import { scopeText } from '../pages/texts/texts.ts'
import type { Texts } from '../pages/texts/texts.ts'
import type { Store } from '../store/store.ts'

/** The sentence for a scope: the description of its group, or one of the texts. */
type ScopeDescription = (texts: Texts, scope: string) => string

/** Reads the descriptions of the groups that have the names of these scopes. */
export async function findScopeDescriptions(
  zone: { readonly id: string },
  scopes: readonly string[],
  { store, service }: { readonly store: Pick<Store, 'groups'>; readonly service: Service },
): Promise<ScopeDescription> {
  const groups = await store.groups.findByNames(zone.id, scopes)
  const descriptions = new Map(groups.map(group => [group.displayName.toLowerCase(), group.description]))
  return (texts, scope) => descriptions.get(scope.toLowerCase()) ?? scopeText(texts, scope, service)
}
