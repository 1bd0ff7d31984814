/** Texts of automatic answers for installations whose translations do not have them. */
export const DEFAULT_TEXTS: Readonly<Record<string, string>> = {
  empty: 'Your message seems to be empty. Please send it again.',
  form_not_found: "The form '{{form}}' is not known. Please check the code and send it again.",
  sms_received: 'Your message has arrived and will be looked at.',
  'sys.facility_not_found': 'Facility not found.',
  'messages.generic.sys.facility_not_found':
    'Your number is not registered here, so your report could not be taken. Please contact your supervisor.',
  'messages.generic.report_accepted': 'Thank you, your report has arrived.',
  'messages.generic.registration_not_found':
    "Nobody with the id '{{patient_id}}{{place_id}}{{case_id}}' is registered. Please check it and send the report again.",
  'messages.generic.provided_patient_id_not_unique':
    "The id '{{patient_id}}' belongs to somebody else already. Please choose another.",
  'messages.generic.sender_not_found':
    'Your number does not belong to anybody registered here. Please contact your supervisor.',
  'messages.generic.contact_not_found':
    'Whom your report is about is not known. Please check the id and send it again.',
  'messages.generic.parent_field_not_provided':
    'Your report does not say which place this belongs to. Please send it again.',
  'messages.generic.parent_not_found':
    'The place that your report names is not known. Please check it and send it again.',
  'messages.generic.parent_invalid':
    'The place that your report names cannot hold this. Please check it and send it again.',
  'messages.generic.patient_name_not_provided':
    'Your report does not say the name. Please send it again.',
  'messages.generic.place_name_not_provided':
    'Your report does not say the name of the place. Please send it again.',
  'messages.generic.invalid_patient_id': 'The id in your report is not a valid one.',
}
