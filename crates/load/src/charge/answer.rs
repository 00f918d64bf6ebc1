//! An answer of credit control, as far as a client that measures looks at it.

use std::hash::{DefaultHasher, Hasher};
use trunkline_wire::diameter::dictionary::avp::*;
use trunkline_wire::diameter::enumerated::FinalUnitAction;
use trunkline_wire::diameter::{Avp, Avps, Failure, Message, result_code};

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Octets.
    #[default]
    Octets,
    /// Seconds.
    Seconds,
    /// What the service says.
    Service,
}

/// What a rating group is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The rating group; none in what is given to the command as a whole.
    pub group: Option<u32>,
    /// Its result; success if it says none.
    pub result: u32,
    /// Units granted.
    pub units: u64,
    /// Of what.
    pub unit: Unit,
    /// Whether the service ends with these units.
    pub last: bool,
}

/// What an answer says, besides its services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The result of the command; that of a vendor where there is no other.
    pub result: u32,
    /// CC-Request-Type, if it says.
    pub kind: Option<u32>,
    /// CC-Request-Number, if it says.
    pub number: Option<u32>,
    /// Over the result and all that is given: the same in the same answer.
    pub digest: u64,
}

/// Reads an answer; its services go to `services`, which is emptied first.
///
/// # Errors
/// An AVP that cannot be located or has a wrong value, or no result; told for a person.
pub fn read(message: &Message<'_>, digests: bool, services: &mut Vec<Given>) -> Result<Answer, String> {
    services.clear();
    let wrong = |failure: Failure<'_>| format!("an answer that cannot be read: {failure}");
    let mut reading = Reading { answer: Answer::default(), digest: digests.then(DefaultHasher::new) };
    for avp in message.avps() {
        avp.and_then(|avp| reading.take(&avp, services)).map_err(wrong)?;
    }
    if reading.answer.result == 0 {
        return Err("an answer without a result".to_owned());
    }
    reading.answer.digest = reading.digest.map_or(0, |digest| digest.finish());
    Ok(reading.answer)
}

/// An answer that is being read.
struct Reading {
    answer: Answer,
    digest: Option<DefaultHasher>,
}

impl Reading {
    fn take<'a>(&mut self, avp: &Avp<'a>, services: &mut Vec<Given>) -> Result<(), Failure<'a>> {
        let answer = &mut self.answer;
        match avp.key {
            RESULT_CODE => answer.result = avp.unsigned32()?,
            EXPERIMENTAL_RESULT => answer.result = experimental(avp)?,
            CC_REQUEST_TYPE => answer.kind = Some(avp.unsigned32()?),
            CC_REQUEST_NUMBER => answer.number = Some(avp.unsigned32()?),
            MULTIPLE_SERVICES_CREDIT_CONTROL => services.push(given(avp.group())?),
            GRANTED_SERVICE_UNIT => {
                let (units, unit) = granted(avp.group())?;
                services.push(Given { group: None, result: result_code::SUCCESS, units, unit, last: false });
            }
            COST_INFORMATION | CHECK_BALANCE_RESULT => {}
            // When it was made, and by whom, may be another in each copy.
            _ => return Ok(()),
        }
        if let Some(digest) = &mut self.digest {
            digest.write(avp.octets());
        }
        Ok(())
    }
}

fn experimental<'a>(avp: &Avp<'a>) -> Result<u32, Failure<'a>> {
    match avp.group().find(EXPERIMENTAL_RESULT_CODE) {
        Some(code) => code.unsigned32(),
        None => Err(avp.wrong_value()),
    }
}

fn given(avps: Avps<'_>) -> Result<Given, Failure<'_>> {
    let mut given = Given { result: result_code::SUCCESS, ..Given::default() };
    for avp in avps {
        let avp = avp?;
        match avp.key {
            RATING_GROUP => given.group = Some(avp.unsigned32()?),
            RESULT_CODE => given.result = avp.unsigned32()?,
            GRANTED_SERVICE_UNIT => (given.units, given.unit) = granted(avp.group())?,
            FINAL_UNIT_INDICATION => {
                let action = avp.group().find(FINAL_UNIT_ACTION).map(|action| action.unsigned32()).transpose()?;
                given.last = action == Some(FinalUnitAction::Terminate as u32);
            }
            _ => {}
        }
    }
    Ok(given)
}

/// Octets before seconds before units of the service; both directions of octets together.
fn granted(avps: Avps<'_>) -> Result<(u64, Unit), Failure<'_>> {
    let (mut octets, mut seconds, mut service) = (None, None, None);
    for avp in avps {
        let avp = avp?;
        match avp.key {
            CC_TOTAL_OCTETS | CC_INPUT_OCTETS | CC_OUTPUT_OCTETS => {
                octets = Some(avp.unsigned64()?.saturating_add(octets.unwrap_or(0)));
            }
            CC_TIME => seconds = Some(u64::from(avp.unsigned32()?)),
            CC_SERVICE_SPECIFIC_UNITS => service = Some(avp.unsigned64()?),
            _ => {}
        }
    }
    let octets = octets.map(|units| (units, Unit::Octets));
    let seconds = seconds.map(|units| (units, Unit::Seconds));
    Ok(octets.or(seconds).or(service.map(|units| (units, Unit::Service))).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::diameter::credit::{
        CreditControlAnswer, FinalUnitIndication, GrantedServiceUnit, MultipleServices,
    };
    use trunkline_wire::diameter::enumerated::RequestType;
    use trunkline_wire::diameter::{Header, List, Time, command};

    fn written(services: &[MultipleServices<'_>], made: i64) -> Vec<u8> {
        let answer = CreditControlAnswer {
            session_id: "s;1",
            result_code: Some(2001),
            origin_host: "ocs",
            origin_realm: "example",
            auth_application_id: 4,
            request_type: RequestType::Update,
            request_number: 3,
            event_timestamp: Time::from_unix(made),
            services: List::Values(services),
            ..CreditControlAnswer::default()
        };
        let mut out = Vec::new();
        answer.write(&Header::request(command::CREDIT_CONTROL, 4).answer(), &mut out).unwrap();
        out
    }

    fn service(group: u32, granted: GrantedServiceUnit<'static>) -> MultipleServices<'static> {
        MultipleServices { rating_group: Some(group), granted: Some(granted), ..MultipleServices::default() }
    }

    #[test]
    fn grants_results_and_the_last_units() {
        let octets = GrantedServiceUnit { input_octets: Some(3), output_octets: Some(4), ..Default::default() };
        let time = GrantedServiceUnit { time_s: Some(60), ..Default::default() };
        let refused =
            MultipleServices { rating_group: Some(3), result_code: Some(4012), ..MultipleServices::default() };
        let ending = FinalUnitIndication::default();
        let last = MultipleServices { final_unit_indication: Some(ending), ..service(2, time) };
        let (octets, mut services) = (written(&[service(1, octets), last, refused], 1_700_000_000), Vec::new());
        let answer = read(&Message::new(&octets).unwrap(), true, &mut services).unwrap();
        assert_eq!((answer.result, answer.kind, answer.number), (2001, Some(2), Some(3)));
        let want = [
            Given { group: Some(1), result: 2001, units: 7, unit: Unit::Octets, last: false },
            Given { group: Some(2), result: 2001, units: 60, unit: Unit::Seconds, last: true },
            Given { group: Some(3), result: 4012, units: 0, unit: Unit::Octets, last: false },
        ];
        assert_eq!(services, want);
    }

    #[test]
    fn a_digest_is_of_what_is_given_and_not_of_when() {
        let of = |units, made| {
            let granted = GrantedServiceUnit { total_octets: Some(units), ..Default::default() };
            let octets = written(&[service(1, granted)], made);
            read(&Message::new(&octets).unwrap(), true, &mut Vec::new()).unwrap().digest
        };
        assert_eq!(of(1000, 1_700_000_000), of(1000, 1_700_000_009));
        assert_ne!(of(1000, 1_700_000_000), of(1001, 1_700_000_000));
    }

    #[test]
    fn what_is_broken_is_told() {
        let mut octets = written(&[], 1_700_000_000);
        let at = octets.len() - 12;
        octets[at + 7] = 99;
        assert!(read(&Message::new(&octets).unwrap(), false, &mut Vec::new()).is_err());
        let mut none = Vec::new();
        trunkline_wire::diameter::Writer::new(&mut none, &Header::request(command::CREDIT_CONTROL, 4).answer())
            .finish()
            .unwrap();
        let why = read(&Message::new(&none).unwrap(), false, &mut Vec::new()).unwrap_err();
        assert!(why.contains("without a result"), "{why}");
    }
}
