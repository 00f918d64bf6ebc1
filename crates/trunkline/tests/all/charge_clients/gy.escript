#!/usr/bin/env escript
%% A client of Gy made of OTP's diameter, with its dictionaries of the base protocol and of RFC 4006, over two
%% transports to one peer. It does what it is told: a line of words in, a line of JSON out.
%%
%%   gy.escript HOST REALM PORT
%%
%%   ccr SESSION TYPE NUMBER IMSI GROUP REQUESTED USED   a CCR of one rating group; `-` where nothing is said
%%   end                                                 takes leave of the peer
-mode(compile).
-export([peer_up/3, peer_down/3, pick_peer/4, prepare_request/3, prepare_retransmit/3, handle_answer/4,
         handle_error/4, handle_request/3]).
-include_lib("diameter/include/diameter.hrl").

-define(BASE, "diameter_gen_base_rfc6733").
-define(PATIENCE_MS, 20000).
-define(TRANSPORTS, 2).

main(["check"]) ->
    true = filelib:is_regular(dictionary("rfc4006_cc"));
main([Host, Realm, Port]) ->
    lists:foreach(fun build/1, ["rfc4005_nas", "rfc4006_cc"]),
    ok = diameter:start(),
    true = diameter:subscribe(gy),
    ok = diameter:start_service(gy, service(Host, Realm)),
    [{ok, _} = diameter:add_transport(gy, transport(list_to_integer(Port))) || _ <- lists:seq(1, ?TRANSPORTS)],
    [receive #diameter_event{info = Up} when element(1, Up) == up -> ok after ?PATIENCE_MS -> halt(3) end
     || _ <- lists:seq(1, ?TRANSPORTS)],
    say("{\"ready\": true}", []),
    listen().

%% Dictionaries come as sources, with OTP's examples.
dictionary(Name) ->
    filename:join([code:lib_dir(diameter), "examples", "dict", Name ++ ".dia"]).

build(Name) ->
    Options = [return, forms, {name, Name}, {prefix, Name}, {inherits, "common/" ++ ?BASE}],
    {ok, [Forms]} = diameter_make:codec(dictionary(Name), Options),
    {ok, Module, Code} = compile:forms(Forms, [binary]),
    {module, Module} = code:load_binary(Module, Name, Code).

service(Host, Realm) ->
    [{'Origin-Host', Host}, {'Origin-Realm', Realm}, {'Vendor-Id', 0}, {'Product-Name', "OTP/diameter"},
     {'Host-IP-Address', [{127, 0, 0, 1}]}, {'Auth-Application-Id', [4]},
     {restrict_connections, false}, {decode_format, map}, {string_decode, false},
     {application, [{alias, gy}, {dictionary, rfc4006_cc}, {module, ?MODULE}]}].

transport(Port) ->
    Config = [{raddr, {127, 0, 0, 1}}, {rport, Port}],
    {connect, [{transport_module, diameter_tcp}, {transport_config, Config},
               {watchdog_timer, 6000}, {connect_timer, 60000}]}.

listen() ->
    case io:get_line("") of
        eof -> ok;
        Line -> told(string:lexemes(Line, " \n"))
    end.

told(["ccr" | Words]) ->
    tell(diameter:call(gy, gy, ccr(Words), [{timeout, ?PATIENCE_MS}])),
    listen();
told(["end"]) ->
    ok = diameter:remove_transport(gy, true),
    say("{\"ended\": true}", []),
    listen().

ccr([Session, Type, Number, Imsi, Group, Requested, Used]) ->
    ['CCR' | #{'Session-Id' => Session,
               'Destination-Realm' => "example",
               'Auth-Application-Id' => 4,
               'Service-Context-Id' => "32251@3gpp.org",
               'CC-Request-Type' => list_to_integer(Type),
               'CC-Request-Number' => list_to_integer(Number),
               'Subscription-Id' => [#{'Subscription-Id-Type' => 1, 'Subscription-Id-Data' => Imsi}],
               'Multiple-Services-Indicator' => [1],
               'Multiple-Services-Credit-Control' =>
                   [maps:merge(#{'Rating-Group' => [list_to_integer(Group)]},
                               maps:merge(units('Requested-Service-Unit', Requested),
                                          units('Used-Service-Unit', Used)))]}].

units(_, "-") -> #{};
units(Name, "0") -> #{Name => [#{}]};
units(Name, Octets) -> #{Name => [#{'CC-Total-Octets' => [list_to_integer(Octets)]}]}.

tell(#{'Result-Code' := Result, 'CC-Request-Number' := Number} = Answer) ->
    Services = [io_lib:format("{\"group\": ~w, \"result\": ~w, \"granted\": ~w}",
                              [one('Rating-Group', S), one('Result-Code', S), granted(S)])
                || S <- maps:get('Multiple-Services-Credit-Control', Answer, [])],
    say("{\"result\": ~w, \"number\": ~w, \"services\": [~s]}", [Result, Number, lists:join(", ", Services)]);
tell(Other) ->
    say("{\"failed\": ~p}", [lists:flatten(io_lib:format("~w", [Other]))]).

granted(Service) ->
    case one('Granted-Service-Unit', Service) of
        null -> null;
        Units -> one('CC-Total-Octets', Units)
    end.

%% An AVP that is there at most once.
one(Name, Map) ->
    case maps:get(Name, Map, null) of
        [Value] -> Value;
        Value -> Value
    end.

say(Format, Values) ->
    io:format(Format ++ "~n", Values).

%% Callbacks of diameter.

peer_up(_, _, State) -> State.

peer_down(_, _, State) -> State.

pick_peer([Peer | _], _, _, _) -> {ok, Peer}.

prepare_request(#diameter_packet{msg = ['CCR' | Avps]}, _, {_, #diameter_caps{} = Caps}) ->
    {Host, _} = Caps#diameter_caps.origin_host,
    {Realm, _} = Caps#diameter_caps.origin_realm,
    {send, ['CCR' | Avps#{'Origin-Host' => Host, 'Origin-Realm' => Realm}]}.

prepare_retransmit(Packet, _, _) -> {send, Packet}.

handle_answer(#diameter_packet{msg = ['CCA' | Avps], errors = []}, _, _, _) -> Avps.

handle_error(Reason, _, _, _) -> {error, Reason}.

handle_request(_, _, _) -> {answer_message, 3001}.
