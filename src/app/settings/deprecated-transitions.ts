/** Transitions that work and should not be configured any more; tools that upload settings warn about them. */
export interface DeprecatedTransition {
  readonly name: string
  readonly deprecated: true
  readonly deprecatedIn: string
  readonly deprecationMessage: string
}

const deprecated = (name: string, deprecatedIn: string, instead: string): DeprecatedTransition => ({
  name,
  deprecated: true,
  deprecatedIn,
  deprecationMessage: `Transition "${name}" is deprecated since ${deprecatedIn}. Use "${instead}" instead.`,
})

export const DEPRECATED_TRANSITIONS: readonly DeprecatedTransition[] = [
  deprecated('generate_patient_id_on_people', '3.8.x', 'generate_shortcode_on_contacts'),
  deprecated('update_notifications', '3.2.x', 'muting'),
]
